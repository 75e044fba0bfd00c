// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "store/fleet/fleet_job.h"

namespace attune {

/// Which jobs an agent works on.
struct ClaimFilter {
  int64_t session = 0;
  std::vector<FleetStep> steps;  ///< perf_eval stands for perf_contest, too.
  std::string agent;             ///< Who claims: host, process and device, for the attempts.
};

/// Jobs of a store by their states.
struct JobCounts {
  size_t queued = 0, leased = 0, done = 0, failed = 0, excluded = 0;
  size_t blocked = 0;  ///< Queued jobs that wait for another job, as an eval step for its compile step.
};

/// The answer to JobQueue::defer(). pointless: no compile job can help, because all candidates were wanted before or
/// the compile jobs have had kMaxCompileRounds; the job stays with the agent. lost: the lease has ended.
enum class Deferral : uint8_t { deferred, pointless, lost };

/// Searches of agents without a compiler. waiting: a job can be claimed, and such an agent has been there. running:
/// such an agent holds a job.
enum class BareSearches : uint8_t { none, waiting, running };

/// The queue of a fleet, as an agent sees it: a claim, its results and its state change in one transaction. Time is the
/// store's. Thread-safe; several agents and processes may share one store. Throws Error{database} with one sentence.
class JobQueue {
 public:
  virtual ~JobQueue() = default;
  /// Leases up to `max_count` jobs for `kLeaseS` seconds. Expired leases are queued again first. A perf_contest is
  /// given out once no perf_compile or perf_eval of its configuration is queued or leased; a job whose compile step is
  /// not done (or failed) is not. Empty: nothing to do now.
  virtual std::vector<ClaimedJob> claim(const ClaimFilter& filter, size_t max_count) = 0;
  /// Extends the leases; returns the ids of jobs whose lease is gone (expired and given to another, aborted session,
  /// contest with new jobs). Waits up to 2 s for a lock: the caller repeats it.
  virtual std::vector<int64_t> renew(const std::vector<ClaimedJob>& jobs) = 0;
  /// Stores results and state together. False: the lease has ended. The result is discarded and an event is stored.
  virtual bool commit(const ClaimedJob& job, const JobOutcome& outcome) = 0;
  /// Gives jobs back without an attempt.
  virtual void release(const std::vector<ClaimedJob>& jobs) = 0;
  /// Gives back a job of perf_eval or perf_contest whose search wanted kernels that this agent cannot compile, without
  /// an attempt, and queues the compile jobs again. `so_far`: the short list of what could be measured.
  virtual Deferral defer(const ClaimedJob& job, const std::vector<WantedCandidate>& wanted,
                         const std::vector<ShortListRow>& so_far) = 0;
  /// What compile jobs must build for searches that were deferred, by job. Jobs without an entry build what their
  /// searches begin with.
  virtual std::map<int64_t, std::vector<WantedCandidate>> wanted(const std::vector<ClaimedJob>& jobs) = 0;
  /// What agents without a compiler (event `lacks_compiler`) do, who may defer jobs.
  virtual BareSearches bare_searches(int64_t session) = 0;
  /// Queues the jobs of agents again that are known to have ended, without waiting for their leases. `has_ended` gets
  /// ClaimFilter::agent and calls nothing of the queue. Returns how many jobs.
  virtual size_t end_leases(int64_t session, const std::function<bool(const std::string& agent)>& has_ended) = 0;
  virtual JobCounts counts(const ClaimFilter& filter) = 0;
  /// All short lists of a configuration in a session, for its contest.
  virtual std::vector<ShortListRow> short_lists(int64_t session, const std::string& configuration) = 0;
};

inline constexpr double kLeaseS = 60, kRenewS = 20;

}  // namespace attune
