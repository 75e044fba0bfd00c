// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "core/device_info.h"
#include "store/fleet/job_queue.h"
#include "tuner/work_source.h"

namespace attune {

/// A job that this run has ended, for displays.
struct EndedJob {
  ClaimedJob job;
  JobOutcome outcome;
  double seconds = 0;
};

/// How the jobs of a run ended.
struct FleetCounts {
  size_t num_done = 0;
  size_t num_unsupported = 0;  ///< The solver does not compute the problem.
  size_t num_failed = 0;
  size_t num_given_back = 0;  ///< Cut short: they wait for the next run.
  size_t num_deferred = 0;    ///< Given back until compile jobs have built what their searches want.
  size_t num_lost = 0;        ///< Their leases ended before their results were stored.
};

struct FleetWorkOptions {
  ClaimFilter filter;  ///< Steps that measure.
  DeviceInfo device;   ///< For the costs of problems.
  /// The session's solvers of each op, for jobs of all solvers; without an entry all of this program take part.
  std::map<std::string, std::vector<std::string>, std::less<>> solvers;
  /// The compiled kernels of finalists; empty: none are stored. An Error{io} means the same.
  std::function<std::vector<FleetKernel>(const Problem&, const std::vector<ShortListRow>&)> kernels_of;
  /// Whether another agent is known to have ended, so that its leases need not expire; empty: that is not known.
  std::function<bool(const std::string& agent)> has_ended;
  /// Whether the run waits for a store that is away; empty: it never is. The queue then throws StoreAway, or finds
  /// nothing.
  std::function<bool()> waits_for_store;
  /// Steps of other agents whose jobs must end first, such as perf_compile.
  std::vector<FleetStep> steps_before = {};
  /// How long to wait for them while no agent holds one of their jobs; 0: not, even while one does.
  double max_wait_s = 0;
  /// Receives each job whose result was stored. Called by one thread at a time; calls nothing of FleetWork.
  std::function<void(const EndedJob&)> on_job;
  std::function<void(const std::string&)> say;  ///< Receives sentences about waiting and lost leases.
};

/// Jobs of a fleet's queue as work for a tuner. Holds a lease for each job from take() to done(). A job that was cut
/// short stays leased, so that this run does not take it again, and goes back at the end. Thread-safe.
class FleetWork final : public WorkSource {
 public:
  /// `queue` and `clock` must outlive this.
  FleetWork(JobQueue& queue, FleetWorkOptions options, Clock& clock = steady_clock());
  ~FleetWork() override;
  FleetWork(const FleetWork&) = delete;
  FleetWork& operator=(const FleetWork&) = delete;

  /// Throws like JobQueue::claim(); nothing while the store is away. Jobs that are no problem here are committed as
  /// `unsupported`.
  std::optional<Task> take() override;
  /// Throws like JobQueue::commit(); DeviceLost when three jobs in a row failed on one device and no candidate is to
  /// blame.
  void done(ProblemId id, const TuneResult& result) override;
  void give_back(ProblemId id) override;
  bool is_lost(ProblemId id) override;
  Remaining remaining() override;

  /// Renews the leases when they are due. Call it at least once a second. A database that does not answer is asked
  /// again until the leases have ended.
  void tick();
  /// Gives all jobs back. Call it after the run. The destructor calls it, too.
  void release_all();
  FleetCounts counts();
  /// Why jobs of the steps are left that this run cannot take, as a clause; empty: none is left, or they can be taken.
  std::string left();

 private:
  using Given = std::map<ProblemId, ClaimedJob>;
  bool look(double now_s) ATTUNE_REQUIRES(mutex_);
  void count() ATTUNE_REQUIRES(mutex_);
  size_t num_own() const ATTUNE_REQUIRES(mutex_) { return given_.size() + claimed_.size() + held_.size(); }
  size_t num_of_others() const ATTUNE_REQUIRES(mutex_);
  bool may_come(double now_s) ATTUNE_REQUIRES(mutex_);
  bool may_be_freed(double now_s) ATTUNE_REQUIRES(mutex_);
  bool waits_for_store() const { return options_.waits_for_store && options_.waits_for_store(); }
  std::optional<WorkItem> item_of(const ClaimedJob& job) ATTUNE_REQUIRES(mutex_);
  void commit(const ClaimedJob& job, JobOutcome outcome, double seconds) ATTUNE_REQUIRES(mutex_);
  void end(const ClaimedJob& job, JobOutcome outcome, const TuneResult& result) ATTUNE_REQUIRES(mutex_);
  std::vector<FleetKernel> kernels_of(const JobOutcome& outcome) const;
  void watch_device(const std::string& device, const JobOutcome& outcome) ATTUNE_REQUIRES(mutex_);
  bool defers(const ClaimedJob& job, const TuneResult& result) ATTUNE_REQUIRES(mutex_);
  void hold(const ClaimedJob& job) ATTUNE_REQUIRES(mutex_);
  void drop_lost(const std::vector<int64_t>& lost) ATTUNE_REQUIRES(mutex_);
  std::vector<ClaimedJob> own_jobs() const ATTUNE_REQUIRES(mutex_);
  void say(const std::string& line) const {
    if (options_.say) options_.say(line);
  }

  JobQueue& queue_;
  const FleetWorkOptions options_;
  Clock& clock_;
  Mutex mutex_;
  std::deque<ClaimedJob> claimed_ ATTUNE_GUARDED_BY(mutex_);  // Not given out yet.
  Given given_ ATTUNE_GUARDED_BY(mutex_);
  std::vector<ClaimedJob> held_ ATTUNE_GUARDED_BY(mutex_);  // Cut short; released at the end.
  std::set<ProblemId> lost_ ATTUNE_GUARDED_BY(mutex_);
  std::map<int64_t, int> num_transient_ ATTUNE_GUARDED_BY(mutex_);            // Transient failures in this run, by job.
  std::map<std::string, int> num_device_failures_ ATTUNE_GUARDED_BY(mutex_);  // In a row, by device.
  std::map<ProblemId, double> costs_s_ ATTUNE_GUARDED_BY(mutex_);
  double all_costs_s_ ATTUNE_GUARDED_BY(mutex_) = 0;  // Of all problems given out so far.
  size_t num_costs_ ATTUNE_GUARDED_BY(mutex_) = 0;
  ProblemId next_id_ ATTUNE_GUARDED_BY(mutex_) = 1;
  JobCounts queued_ ATTUNE_GUARDED_BY(mutex_);  // As of the last count.
  JobCounts before_ ATTUNE_GUARDED_BY(mutex_);  // Of FleetWorkOptions::steps_before.
  double next_count_s_ ATTUNE_GUARDED_BY(mutex_) = 0;
  double next_look_s_ ATTUNE_GUARDED_BY(mutex_) = 0, renewed_s_ ATTUNE_GUARDED_BY(mutex_);
  double pause_s_ ATTUNE_GUARDED_BY(mutex_) = 0;                     // Before that look.
  std::optional<double> waits_since_s_ ATTUNE_GUARDED_BY(mutex_);    // For jobs that cannot be claimed yet.
  std::optional<double> blocked_since_s_ ATTUNE_GUARDED_BY(mutex_);  // While no agent works on the steps before.
  bool said_waiting_ ATTUNE_GUARDED_BY(mutex_) = false;
  FleetCounts counts_ ATTUNE_GUARDED_BY(mutex_);
};

}  // namespace attune
