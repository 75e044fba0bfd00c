// SPDX-License-Identifier: MIT
#include "store/fleet/kernels/wanted_kernels.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"

namespace attune {

size_t want_kernels(FleetSql& sql, const ClaimedJob& job, const std::vector<WantedCandidate>& wanted) {
  std::map<std::string, std::vector<const WantedCandidate*>> by_solver;
  for (const WantedCandidate& one : wanted) by_solver[one.solver].push_back(&one);
  size_t num_new = 0;
  for (const auto& [solver, own] : by_solver) {
    // Locked: the agent that ends it meanwhile then sees that this job waits.
    const long long compile = sql.number(
        fmt::format("SELECT id FROM job WHERE session = :s AND configuration = :c AND step = :t AND solver = :o{}",
                    sql.words().for_update),
        job.session, job.configuration, name(FleetStep::perf_compile), solver);
    if (compile == 0) continue;
    const long long round = 1 + sql.number("SELECT coalesce(max(round), 0) FROM wanted_kernel WHERE job = :j", compile);
    if (round > kMaxCompileRounds) continue;
    std::vector<std::vector<std::string>> rows;
    for (const WantedCandidate* one : own) {
      const std::string candidate = one->candidate.name();
      rows.push_back({hash128(one->problem + "\n" + candidate).hex(), one->problem, candidate});
    }
    const size_t num_added =
        sql.insert(fmt::format("{} wanted_kernel (job, digest, round, problem, candidate)", sql.words().insert_new),
                   fmt::format("({}, ?, {}, ?, ?)", compile, round), std::string(sql.words().or_nothing), rows);
    if (num_added == 0) continue;
    num_new += num_added;
    sql.run(
        "UPDATE job SET state = 'queued', not_before = 0, class = '', detail = '' WHERE id = :i"
        " AND state NOT IN ('queued', 'leased')",
        compile);
  }
  return num_new;
}

void forget_wants(FleetSql& sql, const std::set<int64_t>& compile_jobs) {
  for (const int64_t job : compile_jobs) sql.run("DELETE FROM wanted_kernel WHERE job = :j", job);
}

std::map<int64_t, std::vector<WantedCandidate>> wanted_kernels(FleetSql& sql, const std::vector<ClaimedJob>& jobs) {
  std::map<int64_t, std::vector<WantedCandidate>> found;
  std::vector<std::string> ids;
  std::map<int64_t, std::string> solvers;
  for (const ClaimedJob& job : jobs) {
    ids.push_back(std::to_string(job.id));
    solvers.emplace(job.id, job.solver);
  }
  if (ids.empty()) return found;
  sql.each<long long, std::string, std::string>(
      fmt::format("SELECT w.job, w.problem, w.candidate FROM wanted_kernel w WHERE w.job IN ({}) AND w.round ="
                  " (SELECT max(l.round) FROM wanted_kernel l WHERE l.job = w.job) ORDER BY w.job, w.digest",
                  join(ids, ",")),
      [&](long long job, const std::string& problem, const std::string& candidate) {
        found[job].push_back({solvers.at(job), problem, Candidate::parse(candidate)});
      });
  return found;
}

}  // namespace attune
