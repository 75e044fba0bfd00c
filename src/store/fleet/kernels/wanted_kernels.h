// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/fleet/fleet_job.h"
#include "store/fleet/fleet_sql.h"

namespace attune {

/// Queues the compile jobs of candidates again that a search of `job` wanted and that no machine has compiled, inside a
/// transaction of the caller. Returns how many candidates are new: 0 if all were wanted before, or their compile jobs
/// have had kMaxCompileRounds.
size_t want_kernels(FleetSql& sql, const ClaimedJob& job, const std::vector<WantedCandidate>& wanted);

/// Forgets the wants of compile jobs, so that a search may want the same kernels again, inside a transaction of the
/// caller.
void forget_wants(FleetSql& sql, const std::set<int64_t>& compile_jobs);

/// Forgets the wants for each configuration that has a job `j` of the session with this condition, whose
/// values are `values`.
template <typename... Values>
void forget_wants(FleetSql& sql, int64_t session, const std::string& condition, const Values&... values) {
  std::set<int64_t> jobs;
  sql.each<long long>(
      "SELECT DISTINCT w.job FROM wanted_kernel w JOIN job c ON c.id = w.job WHERE c.session = :s AND EXISTS"
      " (SELECT 1 FROM job j" +
          std::string(sql.words().by_configuration) +
          " WHERE j.session = c.session AND j.configuration = c.configuration AND " + condition + ")",
      [&](long long job) { jobs.insert(job); }, session, values...);
  forget_wants(sql, jobs);
}

/// The candidates that compile jobs must build in their last round, by job.
std::map<int64_t, std::vector<WantedCandidate>> wanted_kernels(FleetSql& sql, const std::vector<ClaimedJob>& jobs);

}  // namespace attune
