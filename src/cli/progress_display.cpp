// SPDX-License-Identifier: MIT
#include "cli/progress_display.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text.h"
#include "report/result_table.h"

namespace attune {
namespace {
constexpr double kRedrawS = 0.1, kPlainS = 10;
constexpr size_t kBarCells = 24;
}  // namespace

ProgressDisplay::ProgressDisplay(size_t num_shapes, double budget_s)
    : num_shapes_(num_shapes),
      budget_s_(budget_s),
      began_s_(steady_clock().now_s()),
      reported_s_(began_s_),
      terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressDisplay::~ProgressDisplay() { clear(); }

void ProgressDisplay::update(const Problem& problem, Phase phase, size_t num_candidates) {
  static constexpr std::array<const char*, 5> kPhases = {"racing", "finals of", "confirming", "last samples of",
                                                         "done with"};
  state_ = fmt::format("{} {} of {}", kPhases[static_cast<size_t>(phase)], num_candidates, short_shape(problem));
  const double now_s = steady_clock().now_s();
  if (terminal_ && now_s - drawn_s_ > kRedrawS) draw();
  if (!terminal_ && now_s - reported_s_ > kPlainS) {
    reported_s_ = now_s;
    std::fprintf(stderr, "%zu of %zu shapes, %s: %s\n", num_done_, num_shapes_,
                 format_duration(now_s - began_s_).c_str(), state_.c_str());
  }
}

void ProgressDisplay::shape_done() {
  ++num_done_;
  if (terminal_) draw();
}

void ProgressDisplay::print_line(const std::string& line, bool to_stdout) {
  clear();
  std::fprintf(to_stdout ? stdout : stderr, "%s\n", line.c_str());
  std::fflush(to_stdout ? stdout : stderr);
  if (terminal_) draw();
}

void ProgressDisplay::draw() {
  drawn_s_ = steady_clock().now_s();
  const double elapsed_s = drawn_s_ - began_s_;
  const size_t filled = num_shapes_ == 0 ? kBarCells : kBarCells * num_done_ / num_shapes_;
  std::string bar;
  for (size_t cell = 0; cell < kBarCells; ++cell) bar += cell < filled ? "█" : "░";
  std::string left = "";
  if (num_done_ > 0 && num_done_ < num_shapes_) {
    double left_s = elapsed_s / static_cast<double>(num_done_) * static_cast<double>(num_shapes_ - num_done_);
    if (budget_s_ > 0) left_s = std::min(left_s, std::max(0.0, budget_s_ - elapsed_s));
    left = ", about " + format_duration(left_s) + " left";
  }
  std::fprintf(stderr, "\r\033[K%s %zu/%zu %s%s  %s", bar.c_str(), num_done_, num_shapes_,
               format_duration(elapsed_s).c_str(), left.c_str(), state_.c_str());
  std::fflush(stderr);
  visible_ = true;
}

void ProgressDisplay::clear() {
  if (visible_) std::fprintf(stderr, "\r\033[K");
  visible_ = false;
}

}  // namespace attune
