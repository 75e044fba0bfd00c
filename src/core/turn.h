// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>

namespace attune {

/// Names an admitted candidate inside an executor; unique over all problems it has open.
using Slot = uint32_t;
using ProblemId = uint32_t;
using Milliseconds = std::chrono::milliseconds;

/// One entry of a measuring schedule: the candidate, the round its sample belongs to, launches timed together.
struct Turn {
  Slot slot = 0;
  uint32_t round = 0;
  uint32_t launches = 1;
  Milliseconds limit{0};  ///< Deadline of this turn; 0: none.
  bool operator==(const Turn&) const = default;
};

}  // namespace attune
