// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/record.h"
#include "measure/executor.h"

namespace attune {

class Kernels;

/// One candidate as verified and timed beside others.
struct TimedCandidate {
  Candidate candidate;
  Outcome outcome;  ///< With the measurement when ok and timed.
  double ratio = 1, ratio_low = 1,
         ratio_high = 1;  ///< First ok candidate / this one: median of paired samples, 95 % interval.
};

struct InterleavedOptions {
  Protocol protocol;
  uint32_t rounds = 31;  ///< 0: verify only.
  uint64_t seed = 0;
  Kernels* kernels = nullptr;                                 ///< Null: candidates that need compiled kernels fail.
  Limits limits{Milliseconds(60'000), Milliseconds(60'000)};  ///< Of each candidate.
};

/// Verifies candidates of one problem and times those that are right, interleaved in fresh random permutations: what
/// `bench` and `check` do. Throws unavailable with the reason when the problem cannot be run on the device.
std::vector<TimedCandidate> time_interleaved(Executor& executor, const Problem& problem,
                                             std::span<const Candidate> candidates, const InterleavedOptions& options);

}  // namespace attune
