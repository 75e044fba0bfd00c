// SPDX-License-Identifier: MIT
#include "cli/progress_display.h"

#include <fmt/format.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>

#include "base/text.h"
#include "cli/line_output.h"
#include "report/result_table.h"

namespace attune {
namespace {
constexpr double kRedrawS = 0.1, kPlainS = 9, kSilentS = 10;
constexpr size_t kBarCells = 24;

/// What print_alarm() says; written while no alarm is set.
std::string alarm_text;

/// A step that lasts longer than kSilentS (a reference, one launch) reports nothing meanwhile, and a thread that did
/// would be taken for one of a library's and pinned as such (device/host/thread_watch.h).
extern "C" void print_alarm(int) {
  [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, alarm_text.data(), alarm_text.size());
}

/// First after `seconds`, then again and again; 0: never.
void set_alarm(double seconds) {
  const auto whole = static_cast<time_t>(seconds);
  const auto rest_us = static_cast<suseconds_t>((seconds - static_cast<double>(whole)) * 1e6);
  const itimerval timer{{static_cast<time_t>(kSilentS), 0}, {whole, rest_us}};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}
}  // namespace

ProgressDisplay::ProgressDisplay(size_t num_shapes, double budget_s)
    : num_shapes_(num_shapes),
      budget_s_(budget_s),
      began_s_(steady_clock().now_s()),
      reported_s_(began_s_),
      terminal_(isatty(STDERR_FILENO) == 1) {
  if (terminal_) return;
  struct sigaction action {};
  action.sa_handler = print_alarm;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  set_plain("at the start");
}

ProgressDisplay::~ProgressDisplay() {
  clear();
  if (!terminal_) set_alarm(0);
}

void ProgressDisplay::set_plain(const std::string& state) {
  set_alarm(0);
  alarm_text = fmt::format("{} of {} shapes, still at it: {}\n", num_done_, num_shapes_, state);
  set_alarm(std::max(0.1, reported_s_ + kSilentS - steady_clock().now_s()));
}

void ProgressDisplay::update(const Problem& problem, Phase phase, size_t num_candidates) {
  static constexpr std::array<const char*, 5> kPhases = {"racing", "finals of", "confirming", "last samples of",
                                                         "done with"};
  state_ = fmt::format("{} {} of {}", kPhases[static_cast<size_t>(phase)], num_candidates, short_shape(problem));
  const double now_s = steady_clock().now_s();
  if (terminal_ && now_s - drawn_s_ > kRedrawS) draw();
  if (terminal_) return;
  if (now_s - reported_s_ > kPlainS) {
    reported_s_ = now_s;
    std::fprintf(stderr, "%zu of %zu shapes, %s: %s\n", num_done_, num_shapes_,
                 format_duration(now_s - began_s_).c_str(), state_.c_str());
  }
  if (now_s - drawn_s_ > kRedrawS) {
    drawn_s_ = now_s;
    set_plain(state_);
  }
}

void ProgressDisplay::shape_done() {
  ++num_done_;
  if (terminal_) draw();
}

void ProgressDisplay::print_line(const std::string& line, bool to_stdout) {
  clear();
  attune::print_line(to_stdout ? stdout : stderr, line);
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
