// SPDX-License-Identifier: MIT
#include "fleet/agent/fleet_work.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "core/device_lost.h"
#include "fleet/agent/job_outcome.h"
#include "ops/op.h"
#include "store/fleet/store_away.h"
#include "tuner/problem/cost_forecast.h"

namespace attune {
namespace {

constexpr double kFirstPauseS = 0.25;     // After a claim that found nothing; then twice as long, each time.
constexpr double kFirstOthersPauseS = 1;  // The same while other agents hold jobs.
constexpr double kMaxPauseS = 5;          // An idle agent sends up to four statements a look.
constexpr double kCountPause = 20;        // Pause between two counts, in their own durations.
constexpr double kMaxRetryWaitS = 90;     // Wait for jobs that are queued, free, and cannot be claimed yet.
constexpr int kMaxTransientFailures = 3;  // Of one job in one run.
constexpr int kMaxDeviceFailures = 3;     // Of jobs in a row on one device.

}  // namespace

FleetWork::FleetWork(JobQueue& queue, FleetWorkOptions options, Clock& clock)
    : queue_(queue), options_(std::move(options)), clock_(clock), renewed_s_(clock.now_s()) {}

FleetWork::~FleetWork() {
  try {
    release_all();
  } catch (const Error&) {
    // The leases end by themselves.
  }
}

/// Claims a job if none waits here, and counts the others. True if a job waits here.
bool FleetWork::look(double now_s) {
  if (!claimed_.empty()) return true;
  if (now_s < next_look_s_) return false;
  for (ClaimedJob& job : queue_.claim(options_.filter, 1)) claimed_.push_back(std::move(job));
  count();
  if (claimed_.empty() && num_of_others() > 0 && options_.has_ended &&
      queue_.end_leases(options_.filter.session, options_.has_ended) > 0)
    return look(now_s);
  if (!claimed_.empty()) {
    waits_since_s_.reset();
    blocked_since_s_.reset();
    said_waiting_ = false;
    pause_s_ = 0;
    return true;
  }
  const double first_s = num_of_others() + before_.leased + before_.queued > 0 ? kFirstOthersPauseS : kFirstPauseS;
  pause_s_ = std::clamp(2 * pause_s_, first_s, kMaxPauseS);
  next_look_s_ = now_s + pause_s_;
  return false;
}

/// Counts the jobs, unless that was done lately: in a large session it takes long.
void FleetWork::count() {
  const double began_s = clock_.now_s();
  if (began_s < next_count_s_) return;
  queued_ = queue_.counts(options_.filter);
  if (options_.max_wait_s > 0 && !options_.steps_before.empty())
    before_ = queue_.counts({.session = options_.filter.session, .steps = options_.steps_before, .agent = {}});
  const double ended_s = clock_.now_s();
  next_count_s_ = ended_s + kCountPause * (ended_s - began_s);
}

size_t FleetWork::num_of_others() const { return queued_.leased - std::min(queued_.leased, num_own()); }

/// Whether other agents may free a job that waits for a step before.
bool FleetWork::may_be_freed(double now_s) {
  if (queued_.blocked == 0 || before_.queued + before_.leased == 0) return false;
  if (before_.leased > 0)
    blocked_since_s_.reset();
  else if (!blocked_since_s_)
    blocked_since_s_ = now_s;
  if (blocked_since_s_ && now_s >= *blocked_since_s_ + options_.max_wait_s) return false;
  if (!std::exchange(said_waiting_, true))
    say(fmt::format("{} for {} of a step before",
                    queued_.blocked == 1 ? "1 job waits" : fmt::format("{} jobs wait", queued_.blocked),
                    counted(before_.queued + before_.leased, "job")));
  return true;
}

/// Whether a job may still come to this run while it has none.
bool FleetWork::may_come(double now_s) {
  if (waits_for_store()) return true;
  if (!given_.empty()) return queued_.queued > 0;
  if (const size_t num = num_of_others(); num > 0) {
    if (!std::exchange(said_waiting_, true))
      say(fmt::format("waiting for {} that another agent holds", counted(num, "job")));
    return true;
  }
  if (may_be_freed(now_s)) return true;
  if (queued_.queued <= queued_.blocked) return false;
  if (!waits_since_s_) waits_since_s_ = now_s;
  return now_s < *waits_since_s_ + kMaxRetryWaitS;
}

/// The problem of a job. A job without one is committed as unsupported.
std::optional<WorkItem> FleetWork::item_of(const ClaimedJob& job) {
  WorkItem item{.is_contest = job.step != FleetStep::perf_eval};
  try {
    const Problem problem = Problem::parse(job.problem);
    item.problem = op_of(problem).normalise(problem, options_.device);
  } catch (const Error& error) {
    commit(job, {.status = Status::unsupported, .detail = error.what()}, 0);
    return std::nullopt;
  }
  if (!job.solver.empty())
    item.solvers = {job.solver};
  else if (const auto pinned = options_.solvers.find(item.problem.op()); pinned != options_.solvers.end())
    item.solvers = pinned->second;
  if (job.step == FleetStep::perf_eval) {
    item.goal = Goal::short_list;
  } else if (job.step == FleetStep::perf_contest) {
    for (ShortListRow& row : queue_.short_lists(job.session, job.configuration))
      item.candidates.push_back(std::move(row.candidate));
    item.defaults_only = item.candidates.empty();
  } else {
    item.defaults_only = true;
  }
  return item;
}

std::optional<WorkSource::Task> FleetWork::take() {
  const Lock lock(mutex_);
  while (look(clock_.now_s())) {
    const ClaimedJob job = claimed_.front();
    std::optional<WorkItem> item;
    try {
      item = item_of(job);
    } catch (const StoreAway&) {
      if (!waits_for_store()) {
        hold(job);
        claimed_.pop_front();
      }
      return std::nullopt;
    }
    claimed_.pop_front();  // Last: if the queue throws, release_all() gives it back.
    if (!item) continue;
    const ProblemId id = next_id_++;
    const double cost_s = expected_cost_s(item->problem, options_.device);
    costs_s_.emplace(id, cost_s);
    all_costs_s_ += cost_s;
    ++num_costs_;
    given_.emplace(id, job);
    return Task{id, *std::move(item)};
  }
  return std::nullopt;
}

void FleetWork::done(ProblemId id, const TuneResult& result) {
  const Lock lock(mutex_);
  const ClaimedJob job = given_.at(id);
  given_.erase(id);
  costs_s_.erase(id);
  next_look_s_ = pause_s_ = 0;  // It may have freed another job.
  if (lost_.erase(id) > 0) {
    ++counts_.num_lost;
    return;
  }
  if (defers(job, result)) return;
  if (auto outcome = outcome_of(result))
    end(job, *std::move(outcome), result);
  else
    hold(job);
}

/// Whether a job went back because its compile job has more to build first.
bool FleetWork::defers(const ClaimedJob& job, const TuneResult& result) {
  const auto wanted = wanted_kernels_of(job, result);
  if (wanted.empty()) return false;
  held_.push_back(job);  // If the queue throws, release_all() gives it back.
  const auto so_far = result.ending == Ending::shortlisted ? outcome_of(result) : std::nullopt;
  const Deferral deferral = queue_.defer(job, wanted, so_far ? so_far->short_list : std::vector<ShortListRow>());
  held_.pop_back();
  if (deferral == Deferral::pointless) return false;
  if (deferral == Deferral::deferred) {
    ++counts_.num_deferred;
  } else {
    ++counts_.num_lost;
    say(fmt::format("job {} was given to another agent, its result is discarded", job.id));
  }
  return true;
}

/// Counts the jobs in a row that failed on a device without a candidate to blame. Throws at the third: other agents
/// take them.
void FleetWork::watch_device(const std::string& device, const JobOutcome& outcome) {
  int& num_failures = num_device_failures_[device];
  num_failures = outcome.status == Status::device_lost ? num_failures + 1 : 0;
  if (num_failures < kMaxDeviceFailures) return;
  ++counts_.num_given_back;
  throw DeviceLost(fmt::format("{} jobs in a row failed on {}, and no candidate is to blame: {}", num_failures, device,
                               outcome.detail));
}

void FleetWork::end(const ClaimedJob& job, JobOutcome outcome, const TuneResult& result) {
  held_.push_back(job);  // If the device is lost, release_all() gives it back.
  watch_device(result.device, outcome);
  held_.pop_back();
  commit(job, std::move(outcome), result.seconds);
}

void FleetWork::commit(const ClaimedJob& job, JobOutcome outcome, double seconds) {
  held_.push_back(job);  // If the queue throws, release_all() gives it back.
  // The store queues it again without an attempt; without a limit this run would repeat it endlessly.
  if (!counts_as_attempt(outcome.status) && ++num_transient_[job.id] >= kMaxTransientFailures) {
    ++counts_.num_given_back;
    return;
  }
  if (outcome.decision) outcome.kernels = kernels_of(outcome);
  const bool is_stored = queue_.commit(job, outcome);
  held_.pop_back();
  if (!is_stored) {
    ++counts_.num_lost;
    say(fmt::format("job {} was given to another agent, its result is discarded", job.id));
    return;
  }
  if (outcome.status == Status::ok)
    ++counts_.num_done;
  else if (outcome.status == Status::unsupported)
    ++counts_.num_unsupported;
  else
    ++counts_.num_failed;
  if (options_.on_job) options_.on_job({job, std::move(outcome), seconds});
}

/// None if the cache cannot be read: the decision counts without them.
std::vector<FleetKernel> FleetWork::kernels_of(const JobOutcome& outcome) const {
  if (!options_.kernels_of) return {};
  try {
    return options_.kernels_of(outcome.decision->problem, outcome.finalists);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::io) throw;
    say(fmt::format("the kernels of a winner are not stored: {}", error.what()));
    return {};
  }
}

void FleetWork::hold(const ClaimedJob& job) {
  ++counts_.num_given_back;
  held_.push_back(job);
}

void FleetWork::give_back(ProblemId id) {
  const Lock lock(mutex_);
  const ClaimedJob job = given_.at(id);
  given_.erase(id);
  costs_s_.erase(id);
  if (lost_.erase(id) == 0) claimed_.push_front(job);
}

bool FleetWork::is_lost(ProblemId id) {
  const Lock lock(mutex_);
  return lost_.contains(id);
}

WorkSource::Remaining FleetWork::remaining() {
  const Lock lock(mutex_);
  const double now_s = clock_.now_s();
  const bool has_some = look(now_s);
  Remaining remaining{.num_waiting = claimed_.size(), .num_open = given_.size()};
  if (has_some || may_come(now_s)) remaining.num_waiting += queued_.queued + num_of_others();
  if (waits_for_store()) remaining.num_waiting = std::max<size_t>(1, remaining.num_waiting);
  double cost_s = num_costs_ > 0 ? all_costs_s_ / static_cast<double>(num_costs_) : 0;
  if (num_costs_ == 0 && !claimed_.empty()) {
    try {
      cost_s = expected_cost_s(Problem::parse(claimed_.front().problem), options_.device);
    } catch (const Error&) {
      cost_s = 0;  // take() reports it.
    }
  }
  for (const auto& [id, one] : costs_s_) remaining.cost_s += one;
  remaining.cost_s += cost_s * static_cast<double>(remaining.num_waiting);
  return remaining;
}

std::vector<ClaimedJob> FleetWork::own_jobs() const {
  std::vector<ClaimedJob> all(claimed_.begin(), claimed_.end());
  all.insert(all.end(), held_.begin(), held_.end());
  for (const auto& [id, job] : given_) all.push_back(job);
  return all;
}

void FleetWork::tick() {
  const Lock lock(mutex_);
  const double now_s = clock_.now_s();
  if (num_own() == 0) renewed_s_ = now_s;
  if (now_s < renewed_s_ + kRenewS) return;
  try {
    drop_lost(queue_.renew(own_jobs()));
    renewed_s_ = now_s;
  } catch (const StoreAway&) {
    // No agent can claim jobs while the store is away. Its first answer names the lost ones.
  } catch (const Error&) {
    if (now_s < renewed_s_ + kLeaseS) return;
    std::vector<int64_t> all;
    for (const ClaimedJob& job : own_jobs()) all.push_back(job.id);
    drop_lost(all);
    renewed_s_ = now_s;
  }
}

void FleetWork::drop_lost(const std::vector<int64_t>& lost) {
  const auto is_gone = [&](const ClaimedJob& job) { return std::find(lost.begin(), lost.end(), job.id) != lost.end(); };
  std::erase_if(claimed_, is_gone);
  std::erase_if(held_, is_gone);
  for (const auto& [id, job] : given_) {
    if (is_gone(job) && lost_.insert(id).second) say(fmt::format("the lease of job {} has ended", job.id));
  }
}

void FleetWork::release_all() {
  const Lock lock(mutex_);
  const auto all = own_jobs();
  claimed_.clear();
  held_.clear();
  given_.clear();
  costs_s_.clear();
  if (!all.empty()) queue_.release(all);
}

FleetCounts FleetWork::counts() {
  const Lock lock(mutex_);
  return counts_;
}

std::string FleetWork::left() {
  const Lock lock(mutex_);
  const JobCounts now = queue_.counts(options_.filter);
  if (now.queued == 0) return "";
  if (now.blocked == now.queued)
    return fmt::format("{} for another step",
                       now.queued == 1 ? "1 job waits" : fmt::format("{} jobs wait", now.queued));
  return fmt::format("{} left in the queue", counted(now.queued, "job"));
}

}  // namespace attune
