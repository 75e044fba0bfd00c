// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstdint>

namespace attune {

/// Number of an admitted candidate in an executor; unique over all its open problems.
using Slot = uint32_t;
using ProblemId = uint32_t;
using Milliseconds = std::chrono::milliseconds;

/// One entry of a measuring schedule: the candidate, its sample's round, and the number of launches timed together.
struct Turn {
  Slot slot = 0;
  uint32_t round = 0;
  uint32_t launches = 1;
  Milliseconds limit{0};  ///< Deadline of this turn; 0: none.
  bool operator==(const Turn&) const = default;
};

}  // namespace attune
