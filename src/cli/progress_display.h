// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>

#include "tuner/tuner.h"

namespace attune {

/// A live line on standard error, on a terminal only; elsewhere a plain line every ten seconds, also while a step lasts
/// longer (SIGALRM is this object's then). One thread, one object.
class ProgressDisplay {
 public:
  ProgressDisplay(size_t num_shapes, double budget_s);
  ~ProgressDisplay();
  void update(const Problem& problem, Phase phase, size_t num_candidates);
  void shape_done();
  /// Clears the live line, prints a line of result, and draws the live line again.
  void print_line(const std::string& line, bool to_stdout);

 private:
  void draw();
  void set_plain(const std::string& state);
  void clear();
  size_t num_shapes_, num_done_ = 0;
  double budget_s_, began_s_, drawn_s_ = 0, reported_s_ = 0;
  bool terminal_, visible_ = false;
  std::string state_;
};

}  // namespace attune
