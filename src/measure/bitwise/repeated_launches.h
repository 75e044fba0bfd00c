// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/hash.h"

namespace attune {

/// Number of launches of a check: first the quiet ones, then some while other threads compete for the cores.
inline constexpr uint32_t kQuietLaunches = 2, kDisturbedLaunches = 6;

/// Makes launch number `index` (from 0) of a candidate on the same values, to its end, and returns the hash of its
/// output.
using HashOfLaunch = std::function<Hash128(uint32_t index)>;

struct RepeatedOutput {
  std::string hash;   ///< Hash of the first launch's output, 32 digits.
  std::string fault;  ///< A clause such as `its result changes …`; empty if all launches gave the same bits.
};

/// Compares the outputs of several launches bit by bit, with each other and with `expected`, the hash of an earlier
/// process (empty: none). During most launches other threads compete for `num_cores` cores (0: the device computes with
/// none). Throws any exception of `launch`, and Error{device} when the system refuses a thread.
RepeatedOutput compare_launches(const HashOfLaunch& launch, size_t num_cores, const std::string& expected);

}  // namespace attune
