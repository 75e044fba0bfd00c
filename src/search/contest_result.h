// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/record.h"
#include "core/turn.h"

namespace attune {

struct FinalistResult {
  Slot slot = 0;
  Comparison comparison;  ///< With the baseline; the baseline's own has a ratio of 1, and its clean samples as pairs.
  /// True if it was proven faster than every library's default config, in the winner's openings: the winner of a
  /// contest that is `faster`, and perhaps the best finalists of other layouts.
  bool confirmed = false;
};
struct ContestResult {
  /// False if the contest was cut before the finals ended, has no baseline or nobody who may win, or measured nothing
  /// usable. Then no row is
  /// published, and the figures cover what was measured.
  bool decided = false;
  Slot winner = 0, baseline = 0;
  Verdict verdict = Verdict::baseline;
  /// Why what looked faster is not called so, as a clause; empty: for no special reason, or it is.
  std::string reason;
  bool noisy = false;
  std::vector<Slot> tied;  ///< Includes the winner.
  std::vector<FinalistResult> finalists;
  Comparison comparison;  ///< Comparison of the winner with the baseline.
  double baseline_us = 0;
  uint32_t num_openings = 0;  ///< Fresh workers that the comparison is from; 0: from the samples that chose the winner.
};

}  // namespace attune
