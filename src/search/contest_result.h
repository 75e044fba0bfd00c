// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "core/record.h"
#include "core/turn.h"

namespace attune {

struct FinalistResult {
  Slot slot = 0;
  Comparison comparison;  ///< With the baseline; the baseline's own has a ratio of 1, and its clean samples as pairs.
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
  Comparison comparison;  ///< Of the winner with the baseline.
  double baseline_us = 0;
};

}  // namespace attune
