// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "store/fleet/job_queue.h"
#include "store/fleet/store_away.h"

namespace attune {

/// An agent's queue, whose store may go away for a while: claims then find nothing, and results wait here and are sent
/// later. A killed agent loses none of them: its journal has the measurements, and the job's next attempt in this
/// journal repeats none. Thread-safe; its functions return within the time limit of the store (FleetConnection).
class PatientQueue final : public JobQueue {
 public:
  /// `queue` and `clock` must outlive this. `say` receives sentences about the store.
  PatientQueue(JobQueue& queue, double patience_s, std::function<void(const std::string&)> say,
               Clock& clock = steady_clock());

  /// Nothing while the store is away, or results wait.
  std::vector<ClaimedJob> claim(const ClaimFilter& filter, size_t max_count) override;
  /// Throws StoreAway while the store is away: repeat it, because the leases may still be this agent's.
  std::vector<int64_t> renew(const std::vector<ClaimedJob>& jobs) override;
  /// True while the store is away: the result is sent later.
  bool commit(const ClaimedJob& job, const JobOutcome& outcome) override;
  /// While the store is away, nothing happens: the leases end by themselves.
  void release(const std::vector<ClaimedJob>& jobs) override;
  /// While the store is away, the job counts as deferred: its lease ends by itself.
  Deferral defer(const ClaimedJob& job, const std::vector<WantedCandidate>& wanted,
                 const std::vector<ShortListRow>& so_far) override;
  /// Throws StoreAway while the store is away.
  std::map<int64_t, std::vector<WantedCandidate>> wanted(const std::vector<ClaimedJob>& jobs) override;
  /// `running` while the store is away.
  BareSearches bare_searches(int64_t session) override;
  size_t end_leases(int64_t session, const std::function<bool(const std::string& agent)>& has_ended) override;
  /// The last known ones while the store is away; none once it is given up, so that the run ends.
  JobCounts counts(const ClaimFilter& filter) override;
  /// Throws StoreAway while the store is away.
  std::vector<ShortListRow> short_lists(int64_t session, const std::string& configuration) override;

  /// Sends the results that wait. Call it once a second.
  void tick();
  /// Whether to wait for the store: it is away, and has not been for longer than the patience.
  bool is_waiting();
  /// Whether the store has been away for longer than the patience.
  bool is_given_up();
  size_t num_unsent();  ///< Results that wait.
  size_t num_late();    ///< Results that were sent too late: another agent had claimed their jobs.

 private:
  struct Unsent {
    ClaimedJob job;
    JobOutcome outcome;
  };
  /// Runs an action of the queue; `otherwise` if the store is away.
  template <typename Action, typename Result>
  Result ask(Action action, Result otherwise) ATTUNE_REQUIRES(mutex_) {
    try {
      Result result = action();
      note_answer();
      return result;
    } catch (const StoreAway& error) {
      note_away(error.what());
      return otherwise;
    }
  }
  /// Runs an action of the queue. Throws StoreAway.
  template <typename Action>
  auto ask_or_throw(Action action) ATTUNE_REQUIRES(mutex_) {
    try {
      auto result = action();
      note_answer();
      return result;
    } catch (const StoreAway& error) {
      note_away(error.what());
      throw;
    }
  }
  bool has_given_up() ATTUNE_REQUIRES(mutex_);
  /// Whether none waits any longer.
  bool send() ATTUNE_REQUIRES(mutex_);
  void note_answer() ATTUNE_REQUIRES(mutex_);
  void note_away(const std::string& why) ATTUNE_REQUIRES(mutex_);

  JobQueue& queue_;
  const double patience_s_;
  const std::function<void(const std::string&)> say_;
  Clock& clock_;
  Mutex mutex_;
  std::deque<Unsent> unsent_ ATTUNE_GUARDED_BY(mutex_);
  std::optional<double> away_since_s_ ATTUNE_GUARDED_BY(mutex_);
  JobCounts counts_ ATTUNE_GUARDED_BY(mutex_);
  size_t num_late_ ATTUNE_GUARDED_BY(mutex_) = 0;
};

}  // namespace attune
