// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "search/contestants.h"

namespace attune {

/// The oracle: every entrant gets the same number of rounds.
class Exhaustive {
 public:
  Exhaustive(uint32_t warmup, uint32_t iters, Contestants& contestants)
      : warmup_(warmup), iters_(iters), contestants_(contestants) {}
  /// The next rounds of all `slots`, a few at a time, so that a cut or a death costs little. Empty when done.
  std::vector<Turn> next(const std::vector<Slot>& slots);
  /// True if the last rounds returned are warm-up rounds.
  bool is_warmup() const noexcept { return num_rounds_ < warmup_; }
  uint32_t iters() const noexcept { return iters_; }
  void reported() noexcept { num_rounds_ += num_wanted_; }

 private:
  uint32_t warmup_, iters_;
  Contestants& contestants_;
  uint32_t num_rounds_ = 0, num_wanted_ = 0;
};

}  // namespace attune
