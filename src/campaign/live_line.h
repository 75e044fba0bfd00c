// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"

namespace attune {

/// The texts and numbers of a run for a display.
struct ProgressLine {
  size_t num_ended = 0, num_all = 0;  ///< For the bar.
  std::string counts;                 ///< `12 of 34 shapes decided`
  std::string doing;                  ///< `racing 24 candidates of 64×1152×896 fp32`; empty: it starts.
  std::string remarks;                ///< `about 3m 02s left`; may be empty.
};

/// Shows progress on standard error: a live line on a terminal, otherwise a plain line about every ten seconds.
/// Requires: update() is called at least once a second. Only print_line() may be called while another thread changes
/// the progress or calls one of the others.
class LiveLine {
 public:
  /// `now`: returns the progress to display; called by update() and redraw(). `clock` must outlive this.
  /// `on_plain_line`: receives each plain line that is printed, without its line end; may be null.
  explicit LiveLine(std::function<ProgressLine()> now, bool on_terminal = is_terminal(), Clock& clock = steady_clock(),
                    std::function<void(const std::string&)> on_plain_line = nullptr);
  ~LiveLine();
  /// Displays the current progress, as often as suits the output.
  void update();
  /// Redraws the live line at once.
  void redraw();
  /// Removes the live line, until the next update() or redraw().
  void hide();
  /// Clears the live line and prints a line; update() draws the live line again.
  void print_line(const std::string& line, bool to_stdout);

  /// Whether standard error is a terminal.
  static bool is_terminal();

 private:
  void draw();
  void clear() ATTUNE_REQUIRES(mutex_);

  const std::function<ProgressLine()> now_;
  const bool on_terminal_;
  Clock& clock_;
  const std::function<void(const std::string&)> on_plain_line_;
  const double began_s_;
  double drawn_s_ = 0, reported_s_;
  Mutex mutex_;
  bool visible_ ATTUNE_GUARDED_BY(mutex_) = false;
};

/// Returns the beginning of a UTF-8 text that fills at most `num_cells` cells of a terminal, one per character.
std::string first_cells(std::string text, size_t num_cells);

}  // namespace attune
