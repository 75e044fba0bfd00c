// SPDX-License-Identifier: MIT
#include "fleet/agent/compile_jobs.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "ops/op.h"
#include "solver/parts.h"
#include "solver/static/static_contenders.h"
#include "store/fleet/store_away.h"
#include "tuner/candidate_source.h"

namespace attune {
namespace {

constexpr size_t kMaxKernels = 32;  // of one job
constexpr double kStorePauseS = 0.5;
constexpr double kOthersPauseS = 5;  // Four queries.
constexpr double kBetweenSearchesS = 15;
constexpr size_t kBatch = 8;  // jobs that are compiled together

/// Whether the kernels of a wanted candidate are built, or its compiler rejected one. Otherwise another machine, or
/// this one later, may build them.
bool is_settled(const Kernels::BuildResult& built) {
  if (built.is_unbuilt) return false;
  const Status status = built.outcome.status;
  if (status == Status::ok) return !built.binaries.empty();
  return status == Status::compile_failed || status == Status::timed_out || status == Status::crashed;
}

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
  // A job whose compiler fails for the machine's fault is queued again: not twice in one run. One that was done comes
  // again if a search wants more.
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
        batch.push_back({.job = job, .batches = {}, .outcome = {}});
      else
        again.push_back(job);
    }
    if (batch.empty()) break;
    const bool is_prepared = prepare_all(batch);
    if (is_prepared) build(batch);
    for (const Prepared& one : batch) {
      if (!is_prepared || one.outcome.status == Status::ok) seen.erase(one.job.id);
    }
  }
  if (!again.empty()) queue_.release(again);
}

/// Whether a search of an agent without a compiler may still want kernels. Such an agent holds no job for a moment
/// between two, and one that was lost begins none.
bool CompileJobs::awaits_searches() {
  const double now_s = clock_.now_s();
  const BareSearches searches = queue_.bare_searches(options_.filter.session);
  if (searches != BareSearches::waiting) waiting_since_s_.reset();
  if (searches == BareSearches::waiting && !waiting_since_s_) waiting_since_s_ = now_s;
  if (searches == BareSearches::running || (waiting_since_s_ && now_s < *waiting_since_s_ + options_.max_wait_s))
    searches_until_s_ = now_s + kBetweenSearchesS;
  return searches_until_s_ && now_s < *searches_until_s_;
}

/// Waits a while if other agents hold jobs, which may come back. False: none can come.
bool CompileJobs::pause_for_others(size_t num_own) {
  if (options_.max_wait_s <= 0) return false;
  if (options_.has_ended && queue_.end_leases(options_.filter.session, options_.has_ended) > 0) return true;
  if (queue_.counts(options_.filter).leased <= num_own && !awaits_searches()) return false;
  const double end_s = clock_.now_s() + kOthersPauseS;
  while (!is_stopped_ && clock_.now_s() < end_s) {
    is_stopped_ = options_.stop && options_.stop(0);
    clock_.sleep_s(kStorePauseS);
  }
  return true;
}

/// Whether a solver is the job's, or one of the session's for its problem.
bool CompileJobs::takes_part(const Prepared& one, const Problem& problem, const std::string& solver) const {
  if (!one.job.solver.empty()) return solver == one.job.solver;
  const auto pinned = options_.solvers.find(problem.op());
  return pinned == options_.solvers.end() || std::ranges::find(pinned->second, solver) != pinned->second.end();
}

Problem CompileJobs::problem_of(const std::string& text) const {
  const Problem problem = Problem::parse(text);
  return op_of(problem).normalise(problem, device_);
}

/// Finds the candidates to compile, or the outcome of a job that needs none.
void CompileJobs::prepare(Prepared& one) const {
  Batch batch;
  try {
    batch.problem = problem_of(one.job.problem);
  } catch (const Error& error) {
    one.outcome = {.status = Status::unsupported, .detail = error.what()};
    return;
  }
  const bool is_search = one.job.step == FleetStep::perf_compile;
  bool is_supported = false;
  std::string reason = "no solver supports it";
  for (const SolverEntry& entry : solvers_.entries()) {
    if (!takes_part(one, batch.problem, entry.id)) continue;
    const Solver* solver = solvers_.find(entry.id);
    if (solver == nullptr && options_.skips_unavailable) {
      is_supported = true;
      continue;
    }
    if (solver == nullptr) {
      reason = fmt::format("{} is not available on this machine", entry.id);
      continue;
    }
    Contender contender = static_contender(*solver, batch.problem, device_);
    if (is_known_on_device_only(contender)) {
      is_supported = true;  // A library has nothing to compile.
    } else if (!contender.support.yes) {
      if (!one.job.solver.empty()) reason = contender.solver + " " + contender.support.reason;
    } else {
      is_supported = true;
      batch.contenders.push_back(std::move(contender));
    }
  }
  if (!is_supported) {
    one.outcome = {.status = Status::unsupported, .detail = reason};
    return;
  }
  const auto neighbours =
      is_search && options_.neighbours ? options_.neighbours(batch.problem) : std::vector<Candidate>();
  for (const Contender& contender : batch.contenders) {
    const auto first =
        first_candidates(batch.problem, device_, contender, options_.how, neighbours, is_search ? kMaxKernels : 1);
    batch.candidates.insert(batch.candidates.end(), first.begin(), first.end());
  }
  one.batches.push_back(std::move(batch));
}

/// Finds the candidates that a search has asked for. Another machine must build an unknown one.
void CompileJobs::prepare_wanted(Prepared& one, const std::vector<WantedCandidate>& wanted) const {
  one.is_wanted = true;
  for (const WantedCandidate& kernel : wanted) {
    const Solver* const solver = solvers_.find(kernel.candidate.solver);
    if (solver == nullptr) {
      one.why_unbuilt = fmt::format("{} is not available on this machine", kernel.candidate.solver);
      continue;
    }
    try {
      Batch batch{.problem = problem_of(kernel.problem), .contenders = {}, .candidates = {kernel.candidate}};
      Contender contender = static_contender(*solver, batch.problem, device_);
      if (!contender.parts.empty()) {
        std::vector<std::vector<Candidate>> lists(contender.parts.size());
        add_part_choices(contender, kernel.candidate.config, lists);
        contender.space = with_short_lists(contender.space, lists);
      }
      batch.contenders.push_back(std::move(contender));
      one.batches.push_back(std::move(batch));
    } catch (const Error& error) {
      one.why_unbuilt = error.what();  // Another version of the program asked for it.
    }
  }
}

/// False: the store is away, so the jobs went back.
bool CompileJobs::prepare_all(std::vector<Prepared>& jobs) {
  std::vector<ClaimedJob> claimed;
  for (const Prepared& one : jobs) claimed.push_back(one.job);
  std::map<int64_t, std::vector<WantedCandidate>> wanted;
  try {
    wanted = queue_.wanted(claimed);
  } catch (const StoreAway&) {
    queue_.release(claimed);
    return false;
  }
  for (Prepared& one : jobs) {
    const auto own = wanted.find(one.job.id);
    if (own == wanted.end())
      prepare(one);
    else
      prepare_wanted(one, own->second);
  }
  return true;
}

void CompileJobs::build(std::vector<Prepared>& jobs) {
  const double began_s = clock_.now_s();
  std::vector<Kernels::Request> requests;
  for (const Prepared& one : jobs) {
    for (const Batch& batch : one.batches) {
      const auto own = Kernels::requests_of(batch.problem, batch.contenders, batch.candidates);
      requests.insert(requests.end(), own.begin(), own.end());
    }
  }
  const auto stop = [&](size_t num_waiting) {
    renew(jobs);
    is_stopped_ = is_stopped_ || (options_.stop && options_.stop(num_waiting));
    return is_stopped_;
  };
  const std::vector<Kernels::BuildResult> built = kernels_.build(requests, stop);
  const double seconds = (clock_.now_s() - began_s) / static_cast<double>(std::max<size_t>(1, jobs.size()));
  size_t next = 0;
  for (Prepared& one : jobs) {
    size_t num_all = 0, num_failed = 0;
    bool is_cut = false;
    std::string first;
    for (const Batch& batch : one.batches) num_all += batch.candidates.size();
    for (size_t i = 0; i < num_all; ++i, ++next) {
      const Outcome& outcome = built[next].outcome;
      is_cut = is_cut || outcome.status == Status::cancelled;
      if (one.is_wanted && !is_settled(built[next]))
        one.why_unbuilt = outcome.ok() ? "this program does not know a candidate's config" : outcome.detail;
      if (!outcome.ok() && num_failed++ == 0) first = outcome.detail;
    }
    if (is_cut) {
      ++counts_.num_given_back;
      queue_.release({one.job});
      continue;
    }
    // A candidate's failure is not the job's: its search goes on with the others.
    if (!one.why_unbuilt.empty())
      one.outcome = {.status = Status::compile_failed, .detail = "a wanted kernel was not built: " + one.why_unbuilt};
    else if (num_failed > 0 && num_failed == num_all && !one.is_wanted)
      one.outcome = {.status = Status::compile_failed, .detail = first};
    else if (num_failed > 0)
      one.outcome.detail = fmt::format("{} of {} did not compile: {}", num_failed, counted(num_all, "kernel"), first);
    commit(one, seconds);
  }
  if (options_.stop && options_.stop(0)) is_stopped_ = true;
}

void CompileJobs::renew(std::vector<Prepared>& held) {
  const double now_s = clock_.now_s();
  if (now_s < renewed_s_ + kRenewS) return;
  std::vector<ClaimedJob> jobs;
  for (const Prepared& one : held) jobs.push_back(one.job);
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
