// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/record.h"
#include "measure/executor.h"

namespace attune {

struct DeviceKind;
class Kernels;

/// Result of one candidate that was verified and timed together with others.
struct TimedCandidate {
  Candidate candidate;
  Outcome outcome;  ///< Includes the measurement if it is ok and was timed.
  /// With the first given candidate. The ratio is 0 for all if that one failed or was not timed, and for a candidate
  /// that has no clean pair of samples with it.
  Comparison comparison;
};

struct InterleavedOptions {
  Protocol protocol;     ///< The device's kind replaces its timing.
  uint32_t rounds = 31;  ///< 0: verify only.
  uint64_t seed = 0;
  /// True if the first candidate need not meet the protocol's requirement: the others are compared with it.
  bool first_is_best_default = false;
  Kernels* kernels = nullptr;  ///< Null: candidates that need compiled kernels fail.
  Limits limits;               ///< For each candidate, as limits_on() completes them.
  Tick tick;  ///< For a caller that may be interrupted, called while the executor or compilers work; empty: never.
};

/// Completes the stated limits of given candidates: 0 becomes the limit of the device's kind, for a launch at least a
/// minute.
Limits limits_on(const DeviceKind& kind, Limits stated);

/// The time limit of a turn of `batch` launches.
Milliseconds turn_limit(uint32_t batch, const Limits& limits);

/// Verifies candidates of one problem and times the correct ones, for `bench` and `check`. Samples are interleaved in
/// fresh random permutations and all timed in one way (Timing). If the protocol has a requirement, the outputs of a
/// second worker are compared, too. After an abort, by the tick or by the executor's own means, unfinished candidates
/// are `cancelled`. Throws unavailable with the reason if the problem cannot be run on the device, or was not opened
/// before the abort.
std::vector<TimedCandidate> time_interleaved(Executor& executor, const Problem& problem,
                                             std::span<const Candidate> candidates, const InterleavedOptions& options);

}  // namespace attune
