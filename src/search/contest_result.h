// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "core/record.h"
#include "core/turn.h"

namespace attune {

struct FinalistResult {
  Slot slot = 0;
  double us = 0;
  double ratio = 1, ratio_low = 1, ratio_high = 1;  ///< baseline / this slot: median pair ratio and its 95 % interval.
  uint32_t num_clean = 0;  ///< Clean pairs with the baseline (for the baseline itself: clean samples).
};
struct ContestResult {
  /// False if the contest was cut before the finals ended, has no baseline, or measured nothing usable. Then no row is
  /// published, and the figures cover what was measured.
  bool decided = false;
  Slot winner = 0, baseline = 0;
  Verdict verdict = Verdict::baseline;
  bool noisy = false;
  std::vector<Slot> tied;  ///< Includes the winner.
  std::vector<FinalistResult> finalists;
  double winner_us = 0, baseline_us = 0, ratio = 1, ratio_low = 1, ratio_high = 1;
  uint32_t num_clean = 0;
};

}  // namespace attune
