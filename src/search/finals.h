// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <vector>

#include "search/field.h"

namespace attune {

/// Looks of a sequential test that a cap on pairs leaves; the cap itself if it lies before the first. 0: no cap.
std::vector<uint32_t> capped_looks(std::vector<uint32_t> looks, uint32_t max_pairs);

/// Says among the finalists which are as fast as the best: rounds of all of them, and at each look a one-sided Wilcoxon
/// signed rank test against the leader at Holm-adjusted Pocock levels. All stay in the rotation to the end.
class Finals {
 public:
  Finals(FinalsOptions options, uint32_t max_pairs, Field& field, std::vector<Slot> finalists);

  /// Rounds up to the next look, taking the looks that are due; empty when decided.
  std::vector<Turn> next();
  /// As fast as the best, as far as could be told.
  std::span<const Slot> tied() const noexcept { return tied_; }
  bool discarded() const noexcept { return discarded_; }  ///< A block was measured under odd conditions.
  Rounds rounds() const noexcept { return {first_round_, field_.last_round()}; }

 private:
  uint32_t missing_rounds() const;
  bool is_block_sound() const;
  void discard_block();
  void take_look();

  FinalsOptions options_;
  Field& field_;
  std::vector<Slot> finalists_, tied_;
  std::vector<uint32_t> looks_;
  size_t look_ = 0;
  uint32_t num_rounds_ = 0;  ///< Kept ones.
  uint32_t max_rounds_ = 0;  ///< Cap of the look under way.
  uint32_t first_round_, block_first_;
  double usual_clock_;           ///< Of the block before; 0: not known.
  bool look_discarded_ = false;  ///< At most once a look: so it ends.
  bool discarded_ = false;
};

}  // namespace attune
