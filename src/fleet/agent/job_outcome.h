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

/// What a tuner's result says of its job. Nothing: the problem was cut short, so the job goes back to the queue. A
/// result that lacks kernels is a failure: no machine compiles them.
std::optional<JobOutcome> outcome_of(const TuneResult& result);

/// The kernels that a result of a job lacks; empty: it counts as it is.
std::vector<WantedCandidate> wanted_kernels_of(const ClaimedJob& job, const TuneResult& result);

/// The best candidate of each solver that was timed for a Decision, fastest first. Finalists have their times of the
/// finals, others their medians of the race. The winner stands for its solver: after a tie the default config stays,
/// though another was faster in some samples.
std::vector<ShortListRow> finalists_of(const Decision& decision);

/// The finalists as files have them, whose readers take the fastest: the winner first, without those that a tie found
/// faster.
std::vector<ShortListRow> published_finalists(const Decision& decision, std::vector<ShortListRow> finalists);

}  // namespace attune
