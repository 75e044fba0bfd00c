// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "core/outcome.h"

namespace attune {

/// Number of an admitted candidate in an executor; unique over all its open problems.
using Slot = uint32_t;
using ProblemId = uint32_t;
using Milliseconds = std::chrono::milliseconds;
/// A time in seconds, rounded up; 0 for less, a year for more.
inline Milliseconds milliseconds_of(double seconds) noexcept {
  constexpr double kYearS = 366 * 86400.0;
  return Milliseconds(static_cast<int64_t>(std::ceil(1e3 * std::clamp(seconds, 0.0, kYearS))));
}

/// One entry of a measuring schedule: the candidate, its sample's round, the number of launches timed together, and
/// how.
struct Turn {
  Slot slot = 0;
  uint32_t round = 0;
  uint32_t launches = 1;
  Milliseconds limit{0};          ///< Deadline of this turn; 0: none.
  Timing timing = Timing::clock;  ///< How to time it; graph: of a candidate whose AdmitAnswer::timing is graph.
  bool has_warm_up = true;        ///< Whether untimed launches of the candidate come first (untimed_for()).
  bool operator==(const Turn&) const = default;
};

}  // namespace attune
