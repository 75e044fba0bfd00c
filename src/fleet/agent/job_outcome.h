// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "core/record.h"
#include "store/fleet/fleet_job.h"
#include "tuner/tune_result.h"

namespace attune {

inline constexpr size_t kShortListSize = 3;  ///< Candidates that a search leaves for the contest.

/// What a tuner's result says of its job. Nothing: the problem was cut short, so the job goes back to the queue.
std::optional<JobOutcome> outcome_of(const TuneResult& result);

/// The best candidate of each solver that was timed for a Decision, fastest first. Finalists have their times of the
/// finals, others their medians of the race.
std::vector<ShortListRow> finalists_of(const Decision& decision);

}  // namespace attune
