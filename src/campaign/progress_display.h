// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>

#include "campaign/run_progress.h"

namespace attune {

/// Shows progress on standard error: a live line on a terminal, otherwise a plain line about every ten seconds.
/// Requires: update() is called at least once a second.
class ProgressDisplay {
 public:
  /// `progress`: what is displayed; it outlives this.
  explicit ProgressDisplay(const RunProgress& progress);
  ~ProgressDisplay();
  /// Displays the progress as it is now, as often as suits the output.
  void update();
  /// Redraws the live line at once.
  void redraw();
  /// Clears the live line, prints a line of results, and redraws the live line.
  void print_line(const std::string& line, bool to_stdout);

 private:
  void draw();
  void clear();
  const RunProgress& progress_;
  double began_s_, drawn_s_ = 0, reported_s_ = 0;
  bool terminal_, visible_ = false;
};

}  // namespace attune
