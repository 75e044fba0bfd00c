// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>

#include "base/mutex.h"
#include "campaign/run_progress.h"

namespace attune {

/// Shows progress on standard error: a live line on a terminal, otherwise a plain line about every ten seconds.
/// Requires: update() is called at least once a second. Only print_line() may be called while another thread changes
/// the progress or calls one of the others.
class ProgressDisplay {
 public:
  /// `progress`: what is displayed; it outlives this.
  explicit ProgressDisplay(const RunProgress& progress);
  ~ProgressDisplay();
  /// Displays the progress as it is now, as often as suits the output.
  void update();
  /// Redraws the live line at once.
  void redraw();
  /// Removes the live line, until the next update() or redraw().
  void hide();
  /// Clears the live line and prints a line; update() draws the live line again.
  void print_line(const std::string& line, bool to_stdout);

 private:
  void draw();
  void clear() ATTUNE_REQUIRES(mutex_);

  const RunProgress& progress_;
  double began_s_, drawn_s_ = 0, reported_s_ = 0;
  const bool terminal_;
  Mutex mutex_;
  bool visible_ ATTUNE_GUARDED_BY(mutex_) = false;
};

}  // namespace attune
