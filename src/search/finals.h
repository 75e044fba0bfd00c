// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <vector>

#include "search/contest_options.h"
#include "search/contestants.h"

namespace attune {

/// Looks of a sequential test that lie within a cap on pairs, or the cap itself if it lies before the first look. 0: no
/// cap.
std::vector<uint32_t> capped_looks(std::vector<uint32_t> looks, uint32_t max_pairs);

/// Finds the finalists that are as fast as the best. It schedules rounds of all finalists; at each look a one-sided
/// Wilcoxon signed rank test compares each with the leader at Holm-adjusted Pocock levels. All stay in the rotation to
/// the end.
class Finals {
 public:
  /// Requires: one of the finalists may win.
  Finals(FinalsOptions options, uint32_t max_pairs, Contestants& contestants, std::vector<Slot> finalists);

  /// Takes the looks that are due and returns the rounds up to the next look; empty when decided.
  std::vector<Turn> next();
  /// Finalists that may win and are not shown to be slower than the best of those.
  std::span<const Slot> tied() const noexcept { return tied_; }
  /// True if a block was discarded because of unusual conditions.
  bool discarded() const noexcept { return discarded_; }
  Rounds rounds() const noexcept { return {first_round_, contestants_.last_round()}; }

 private:
  uint32_t missing_rounds() const;
  bool is_block_sound() const;
  void discard_block();
  void take_look();

  FinalsOptions options_;
  Contestants& contestants_;
  std::vector<Slot> finalists_, tied_;
  std::vector<uint32_t> looks_;
  size_t look_ = 0;
  uint32_t num_rounds_ = 0;  ///< Rounds kept.
  uint32_t max_rounds_ = 0;  ///< Round limit of the current look.
  uint32_t first_round_, block_first_;
  double usual_clock_;           ///< Clock of the previous block; 0: unknown.
  bool look_discarded_ = false;  ///< A look discards at most one block, so that it ends.
  bool discarded_ = false;
};

}  // namespace attune
