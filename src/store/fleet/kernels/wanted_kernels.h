// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "store/fleet/fleet_job.h"
#include "store/fleet/fleet_sql.h"

namespace attune {

/// Queues the compile jobs of candidates again that a search of `job` wanted and that no machine has compiled, inside a
/// transaction of the caller. Returns how many candidates are new: 0 if all were wanted before, or their compile jobs
/// have had kMaxCompileRounds.
size_t want_kernels(FleetSql& sql, const ClaimedJob& job, const std::vector<WantedCandidate>& wanted);

/// The candidates that compile jobs must build in their last round, by job.
std::map<int64_t, std::vector<WantedCandidate>> wanted_kernels(FleetSql& sql, const std::vector<ClaimedJob>& jobs);

}  // namespace attune
