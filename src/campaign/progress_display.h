// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>

#include "campaign/run_progress.h"

namespace attune {

/// A live line on standard error, on a terminal only; elsewhere a plain line every ten seconds, also while a step lasts
/// longer (SIGALRM is this object's then). One thread, one object.
class ProgressDisplay {
 public:
  explicit ProgressDisplay(RunProgress start);
  ~ProgressDisplay();
  void update(const Problem& problem, Phase phase, size_t num_candidates);
  void shape_done(const TuneResult& result);
  /// Clears the live line, prints a line of result, and draws the live line again.
  void print_line(const std::string& line, bool to_stdout);

 private:
  void draw();
  void set_plain(const std::string& state);
  void clear();
  RunProgress progress_;
  ProgressFile file_;
  double began_s_, drawn_s_ = 0, reported_s_ = 0;
  bool terminal_, visible_ = false;
};

}  // namespace attune
