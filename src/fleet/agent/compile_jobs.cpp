// SPDX-License-Identifier: MIT
#include "fleet/agent/compile_jobs.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "ops/op.h"
#include "solver/static/static_contenders.h"
#include "store/fleet/store_away.h"
#include "tuner/candidate_source.h"

namespace attune {
namespace {

constexpr size_t kMaxKernels = 32;  // of one job
constexpr double kStorePauseS = 0.5;
constexpr double kOthersPauseS = 4;  // Two queries.
constexpr size_t kBatch = 8;         // jobs that are compiled together

}  // namespace

std::vector<Candidate> first_candidates(const Problem& problem, const DeviceInfo& device, const Contender& contender,
                                        const TunerOptions& how, const std::vector<Candidate>& neighbours,
                                        size_t max_count) {
  const bool is_composite = !contender.parts.empty();
  const WorkItem item{.problem = problem, .solvers = {contender.solver}, .defaults_only = is_composite};
  CandidateSource source(item, device, {contender}, how, {.incumbent = {}, .neighbours = neighbours});
  std::vector<Candidate> all = source.defaults();
  all.insert(all.end(), source.recommended().begin(), source.recommended().end());
  std::set<std::string> names;
  std::erase_if(all, [&](const Candidate& one) { return !names.insert(one.name()).second; });
  if (all.size() < max_count) source.begin({});
  while (all.size() < max_count) {
    const auto asked = source.ask(max_count - all.size());
    if (asked.empty()) break;
    for (const Candidate& one : asked) {
      if (names.insert(one.name()).second) all.push_back(one);
    }
  }
  if (all.size() > max_count) all.resize(max_count);
  return all;
}

CompileJobs::CompileJobs(JobQueue& queue, const Registry& solvers, const DeviceInfo& device, Kernels& kernels,
                         CompileJobsOptions options, Clock& clock)
    : queue_(queue),
      solvers_(solvers),
      device_(device),
      kernels_(kernels),
      options_(std::move(options)),
      clock_(clock) {}

bool CompileJobs::run() {
  std::vector<ClaimedJob> held;
  try {
    work(held);
  } catch (...) {
    try {
      queue_.release(held);
    } catch (const Error&) {
      // The leases end by themselves.
    }
    throw;
  }
  return !is_stopped_;
}

/// `held`: receives the claimed jobs; of those that have ended the queue ignores a release.
void CompileJobs::work(std::vector<ClaimedJob>& held) {
  // A job whose compiler fails for the machine's fault is queued again: not twice in one run.
  std::set<int64_t> seen;
  std::vector<ClaimedJob> again;
  while (!is_stopped_) {
    const auto jobs = queue_.claim(options_.filter, kBatch);
    if (jobs.empty() && options_.waits_for_store && options_.waits_for_store()) {
      is_stopped_ = options_.stop && options_.stop(0);
      clock_.sleep_s(kStorePauseS);
      continue;
    }
    if (jobs.empty() && pause_for_others(again.size())) continue;
    if (jobs.empty()) break;
    held = again;
    held.insert(held.end(), jobs.begin(), jobs.end());
    renewed_s_ = clock_.now_s();
    std::vector<Prepared> batch;
    for (const ClaimedJob& job : jobs) {
      if (seen.insert(job.id).second)
        batch.push_back({.job = job, .problem = {}, .contenders = {}, .candidates = {}, .outcome = {}});
      else
        again.push_back(job);
    }
    if (batch.empty()) break;
    build(batch);
  }
  if (!again.empty()) queue_.release(again);
}

/// Waits a while if other agents hold jobs, which may come back. False: none can come.
bool CompileJobs::pause_for_others(size_t num_own) {
  if (!options_.waits_for_others) return false;
  if (options_.has_ended && queue_.end_leases(options_.filter.session, options_.has_ended) > 0) return true;
  if (queue_.counts(options_.filter).leased <= num_own) return false;
  const double end_s = clock_.now_s() + kOthersPauseS;
  while (!is_stopped_ && clock_.now_s() < end_s) {
    is_stopped_ = options_.stop && options_.stop(0);
    clock_.sleep_s(kStorePauseS);
  }
  return true;
}

/// Whether a solver is the job's, or one of the session's for its problem.
bool CompileJobs::takes_part(const Prepared& one, const std::string& solver) const {
  if (!one.job.solver.empty()) return solver == one.job.solver;
  const auto pinned = options_.solvers.find(one.problem.op());
  return pinned == options_.solvers.end() || std::ranges::find(pinned->second, solver) != pinned->second.end();
}

/// Finds the candidates to compile, or the outcome of a job that needs none.
void CompileJobs::prepare(Prepared& one) const {
  try {
    const Problem problem = Problem::parse(one.job.problem);
    one.problem = op_of(problem).normalise(problem, device_);
  } catch (const Error& error) {
    one.outcome = {.status = Status::unsupported, .detail = error.what()};
    return;
  }
  const bool is_search = one.job.step == FleetStep::perf_compile;
  bool is_supported = false;
  std::string reason = "no solver supports it";
  for (const SolverEntry& entry : solvers_.entries()) {
    if (!takes_part(one, entry.id)) continue;
    const Solver* solver = solvers_.find(entry.id);
    if (solver == nullptr && options_.skips_unavailable) {
      is_supported = true;
      continue;
    }
    if (solver == nullptr) {
      reason = fmt::format("{} is not available on this machine", entry.id);
      continue;
    }
    Contender contender = static_contender(*solver, one.problem, device_);
    if (is_known_on_device_only(contender)) {
      is_supported = true;  // A library has nothing to compile.
    } else if (!contender.support.yes) {
      if (!one.job.solver.empty()) reason = contender.solver + " " + contender.support.reason;
    } else {
      is_supported = true;
      one.contenders.push_back(std::move(contender));
    }
  }
  if (!is_supported) {
    one.outcome = {.status = Status::unsupported, .detail = reason};
    return;
  }
  const auto neighbours =
      is_search && options_.neighbours ? options_.neighbours(one.problem) : std::vector<Candidate>();
  for (const Contender& contender : one.contenders) {
    const auto first =
        first_candidates(one.problem, device_, contender, options_.how, neighbours, is_search ? kMaxKernels : 1);
    one.candidates.insert(one.candidates.end(), first.begin(), first.end());
  }
}

void CompileJobs::build(std::vector<Prepared>& batch) {
  const double began_s = clock_.now_s();
  std::vector<Kernels::Request> requests;
  for (Prepared& one : batch) {
    prepare(one);
    const auto own = Kernels::requests_of(one.problem, one.contenders, one.candidates);
    requests.insert(requests.end(), own.begin(), own.end());
  }
  const auto stop = [&](size_t num_waiting) {
    renew(batch);
    is_stopped_ = is_stopped_ || (options_.stop && options_.stop(num_waiting));
    return is_stopped_;
  };
  const std::vector<Kernels::BuildResult> built = kernels_.build(requests, stop);
  const double seconds = (clock_.now_s() - began_s) / static_cast<double>(std::max<size_t>(1, batch.size()));
  size_t next = 0;
  for (Prepared& one : batch) {
    size_t num_failed = 0;
    bool is_cut = false;
    for (size_t i = 0; i < one.candidates.size(); ++i, ++next) {
      const Outcome& outcome = built[next].outcome;
      is_cut = is_cut || outcome.status == Status::cancelled;
      if (outcome.ok()) continue;
      if (num_failed++ == 0) one.outcome.detail = outcome.detail;
    }
    if (is_cut) {
      ++counts_.num_given_back;
      queue_.release({one.job});
      continue;
    }
    if (num_failed > 0 && num_failed == one.candidates.size())
      one.outcome.status = Status::compile_failed;
    else if (one.outcome.status == Status::ok)
      one.outcome.detail.clear();
    commit(one, seconds);
  }
  if (options_.stop && options_.stop(0)) is_stopped_ = true;
}

void CompileJobs::renew(std::vector<Prepared>& batch) {
  const double now_s = clock_.now_s();
  if (now_s < renewed_s_ + kRenewS) return;
  std::vector<ClaimedJob> jobs;
  for (const Prepared& one : batch) jobs.push_back(one.job);
  try {
    queue_.renew(jobs);  // commit() discards the results of lost ones; their kernels are in the cache all the same.
    renewed_s_ = now_s;
  } catch (const StoreAway&) {
    // No agent can claim jobs while the store is away.
  } catch (const Error&) {
    if (now_s >= renewed_s_ + kLeaseS) throw;
  }
}

void CompileJobs::commit(Prepared& one, double seconds) {
  if (!queue_.commit(one.job, one.outcome)) {
    ++counts_.num_lost;
    return;
  }
  if (one.outcome.status == Status::ok)
    ++counts_.num_done;
  else if (one.outcome.status == Status::unsupported)
    ++counts_.num_unsupported;
  else
    ++counts_.num_failed;
  if (options_.on_job) options_.on_job({one.job, one.outcome, seconds});
}

}  // namespace attune
