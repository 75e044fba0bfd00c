// SPDX-License-Identifier: MIT
#include "campaign/live_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/line_output.h"
#include "base/text.h"
#include "report/result_table.h"

namespace attune {
namespace {
constexpr double kRedrawS = 0.1, kPlainS = 9;
constexpr size_t kBarCells = 24;

/// Cuts a line to the terminal's width; a longer one could not be cleared.
std::string fit_to_terminal(std::string line) {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return line;
  return first_cells(std::move(line), size.ws_col);
}
}  // namespace

std::string first_cells(std::string text, size_t num_cells) {
  size_t cells = 0, at = 0;
  for (; at < text.size() && cells < num_cells; ++at) cells += (text[at] & 0xc0) != 0x80;  // First bytes of UTF-8.
  while (at < text.size() && (text[at] & 0xc0) == 0x80) ++at;
  text.resize(at);
  return text;
}

bool LiveLine::is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

LiveLine::LiveLine(std::function<ProgressLine()> now, bool on_terminal, Clock& clock,
                   std::function<void(const std::string&)> on_plain_line)
    : now_(std::move(now)),
      on_terminal_(on_terminal),
      clock_(clock),
      on_plain_line_(std::move(on_plain_line)),
      began_s_(clock.now_s()),
      reported_s_(began_s_) {}

LiveLine::~LiveLine() { hide(); }

void LiveLine::update() {
  const double now_s = clock_.now_s();
  if (on_terminal_) {
    if (now_s - drawn_s_ > kRedrawS) draw();
  } else if (now_s - reported_s_ > kPlainS) {
    reported_s_ = now_s;
    const ProgressLine now = now_();
    const std::string line =
        fmt::format("{}, {}: {}{}{}", now.counts, format_duration(now_s - began_s_),
                    now.doing.empty() ? "starting" : now.doing, now.remarks.empty() ? "" : "; ", now.remarks);
    std::fprintf(stderr, "%s\n", line.c_str());
    if (on_plain_line_) on_plain_line_(line);
  }
}

void LiveLine::redraw() {
  if (on_terminal_) draw();
}

void LiveLine::hide() {
  const Lock lock(mutex_);
  clear();
}

void LiveLine::print_line(const std::string& line, bool to_stdout) {
  const Lock lock(mutex_);
  clear();
  attune::print_line(to_stdout ? stdout : stderr, line);
  std::fflush(to_stdout ? stdout : stderr);
}

void LiveLine::draw() {
  drawn_s_ = clock_.now_s();
  const ProgressLine now = now_();
  const size_t filled = now.num_all == 0 ? kBarCells : kBarCells * now.num_ended / now.num_all;
  std::string bar;
  for (size_t cell = 0; cell < kBarCells; ++cell) bar += cell < filled ? "█" : "░";
  std::string line = fmt::format("{} {}, {}  {}{}{}", bar, now.counts, format_duration(clock_.now_s() - began_s_),
                                 now.doing, now.remarks.empty() ? "" : "; ", now.remarks);
  const Lock lock(mutex_);
  std::fprintf(stderr, "\r\033[K%s", fit_to_terminal(std::move(line)).c_str());
  std::fflush(stderr);
  visible_ = true;
}

void LiveLine::clear() {
  if (visible_) std::fprintf(stderr, "\r\033[K");
  visible_ = false;
}

}  // namespace attune
