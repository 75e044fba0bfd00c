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

/// Result of one candidate that was verified and timed beside others.
struct TimedCandidate {
  Candidate candidate;
  Outcome outcome;  ///< Includes the measurement if it is ok and was timed.
  /// With the first given candidate; the ratio is 0 for all if that one failed, or was not timed, and for one that has
  /// no clean pair of samples with it.
  Comparison comparison;
};

struct InterleavedOptions {
  Protocol protocol;     ///< Its timing is replaced by that of the device's kind.
  uint32_t rounds = 31;  ///< 0: verify only.
  uint64_t seed = 0;
  /// Whether the first candidate need not meet what the protocol requires: the others are compared with it.
  bool first_is_opponent = false;
  Kernels* kernels = nullptr;  ///< Null: candidates that need compiled kernels fail.
  Limits limits;               ///< For each candidate, as limits_on() completes them.
  Tick tick;  ///< For a caller that may be interrupted, called while the executor or compilers work; empty: never.
};

/// The limits of given candidates: as stated; where that is 0, of the kind of device, for a launch at least a minute.
Limits limits_on(const DeviceKind& kind, Limits stated);

/// The time limit of a turn of `batch` launches.
Milliseconds turn_limit(uint32_t batch, const Limits& limits);

/// Verifies candidates of one problem and times the correct ones, interleaved in fresh random permutations and all in
/// one way (Timing), for `bench` and `check`. If the protocol has a requirement, outputs are compared with those of a
/// second worker, too. After an abort, by the tick or by the executor's own means, what is not done is `cancelled`.
/// Throws unavailable with the reason if the problem cannot be run on the device, or was not opened before the abort.
std::vector<TimedCandidate> time_interleaved(Executor& executor, const Problem& problem,
                                             std::span<const Candidate> candidates, const InterleavedOptions& options);

}  // namespace attune
