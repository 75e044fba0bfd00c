// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/fleet/job_queue.h"
#include "store/fleet/store_away.h"

namespace attune {

/// A fleet's queue in memory, for tests of agents: one thread, time stands still, a failed job is not tried again.
class FakeJobQueue final : public JobQueue {
 public:
  struct Job {
    ClaimedJob job;
    JobState state = JobState::queued;
    int64_t required = -1;  ///< Id of the job that must have ended.
    JobOutcome outcome;
    std::string agent;
  };

  int64_t add(FleetStep step, const std::string& problem, const std::string& solver, int64_t required = -1) {
    ClaimedJob job;
    job.id = static_cast<int64_t>(jobs.size()) + 1;
    job.session = 1;
    job.step = step;
    job.configuration = job.problem = problem;
    job.solver = solver;
    jobs.push_back({job, JobState::queued, required, {}, ""});
    return job.id;
  }
  Job& at(int64_t id) { return jobs.at(static_cast<size_t>(id) - 1); }
  /// Ends the lease of a job, as if it had expired and another agent had claimed it.
  void lose(int64_t id) { ++at(id).job.token; }

  std::vector<ClaimedJob> claim(const ClaimFilter& filter, size_t max_count) override {
    ++num_claims;
    check_answers();
    std::vector<ClaimedJob> claimed;
    for (Job& one : jobs) {
      if (claimed.size() == max_count) break;
      if (one.state != JobState::queued || !is_of(filter, one.job.step) || is_blocked(one)) continue;
      one.state = JobState::leased;
      ++one.job.token;
      one.agent = filter.agent;
      claimed.push_back(one.job);
    }
    return claimed;
  }
  std::vector<int64_t> renew(const std::vector<ClaimedJob>& held) override {
    ++num_renewals;
    check_answers();
    if (is_away) fail(ErrorCode::database, "the database is away");
    std::vector<int64_t> lost;
    for (const ClaimedJob& one : held) {
      if (!is_held(one)) lost.push_back(one.id);
    }
    return lost;
  }
  bool commit(const ClaimedJob& job, const JobOutcome& outcome) override {
    check_answers();
    if (is_away) fail(ErrorCode::database, "the database is away");
    if (!is_held(job)) return false;
    Job& one = at(job.id);
    one.outcome = outcome;
    one.state = outcome.status == Status::ok        ? JobState::done
                : counts_as_attempt(outcome.status) ? JobState::failed
                                                    : JobState::queued;
    ++num_commits;
    return true;
  }
  void release(const std::vector<ClaimedJob>& held) override {
    check_answers();
    for (const ClaimedJob& one : held) {
      if (is_held(one)) at(one.id).state = JobState::queued;
    }
  }
  Deferral defer(const ClaimedJob& job, const std::vector<WantedCandidate>& kernels,
                 const std::vector<ShortListRow>& so_far) override {
    check_answers();
    if (!is_held(job)) return Deferral::lost;
    if (num_rounds == 0) return Deferral::pointless;
    --num_rounds;
    Job& one = at(job.id);
    one.state = JobState::queued;
    one.outcome.short_list = so_far;
    Job& compile = at(one.required);
    compile.state = JobState::queued;
    wanted_kernels[one.required] = kernels;
    return Deferral::deferred;
  }
  std::map<int64_t, std::vector<WantedCandidate>> wanted(const std::vector<ClaimedJob>& held) override {
    check_answers();
    std::map<int64_t, std::vector<WantedCandidate>> found;
    for (const ClaimedJob& one : held) {
      if (wanted_kernels.contains(one.id)) found.emplace(one.id, wanted_kernels.at(one.id));
    }
    return found;
  }
  BareSearches bare_searches(int64_t) override {
    check_answers();
    if (searches.empty()) return BareSearches::none;
    const BareSearches next = searches.front();
    searches.erase(searches.begin());
    if (on_search) on_search();
    return next;
  }
  size_t end_leases(int64_t, const std::function<bool(const std::string&)>& has_ended) override {
    size_t num_ended = 0;
    for (Job& one : jobs) {
      if (one.state != JobState::leased || !has_ended(one.agent)) continue;
      one.state = JobState::queued;
      ++num_ended;
    }
    return num_ended;
  }
  JobCounts counts(const ClaimFilter& filter) override {
    check_answers();
    JobCounts counts;
    for (const Job& one : jobs) {
      if (!is_of(filter, one.job.step)) continue;
      counts.queued += one.state == JobState::queued;
      counts.leased += one.state == JobState::leased;
      counts.done += one.state == JobState::done;
      counts.failed += one.state == JobState::failed;
      counts.blocked += one.state == JobState::queued && is_blocked(one);
    }
    return counts;
  }
  std::vector<ShortListRow> short_lists(int64_t, const std::string& configuration) override {
    check_answers();
    if (is_away) fail(ErrorCode::database, "the database is away");
    std::vector<ShortListRow> all;
    for (const Job& one : jobs) {
      if (one.job.configuration == configuration && one.state == JobState::done)
        all.insert(all.end(), one.outcome.short_list.begin(), one.outcome.short_list.end());
    }
    return all;
  }

  std::vector<Job> jobs;
  std::map<int64_t, std::vector<WantedCandidate>> wanted_kernels;  ///< By compile job.
  std::vector<BareSearches> searches;                              ///< Answers of bare_searches(), before `none`.
  std::function<void()> on_search;
  int num_rounds = 3;  ///< Of compile jobs, before a deferral is pointless.
  size_t num_claims = 0, num_renewals = 0, num_commits = 0;
  bool is_away = false;   ///< Calls fail for another reason than a store that is away.
  bool has_left = false;  ///< The store is away.

 private:
  void check_answers() const {
    if (has_left) throw StoreAway("the store does not answer");
  }
  static bool is_of(const ClaimFilter& filter, FleetStep step) {
    if (step == FleetStep::perf_contest) step = FleetStep::perf_eval;
    return std::find(filter.steps.begin(), filter.steps.end(), step) != filter.steps.end();
  }
  static bool is_open(const Job& job) { return job.state == JobState::queued || job.state == JobState::leased; }
  bool is_held(const ClaimedJob& job) {
    const Job& one = at(job.id);
    return one.state == JobState::leased && one.job.token == job.token;
  }
  bool is_blocked(const Job& job) const {
    if (job.job.step != FleetStep::perf_contest)
      return job.required > 0 && jobs.at(static_cast<size_t>(job.required) - 1).state != JobState::done;
    return std::any_of(jobs.begin(), jobs.end(), [&](const Job& other) {
      return other.job.configuration == job.job.configuration && other.job.id != job.job.id && is_open(other);
    });
  }
};

}  // namespace attune
