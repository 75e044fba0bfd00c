// SPDX-License-Identifier: MIT
#pragma once
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "core/device_info.h"
#include "tuner/tune_observer.h"
#include "tuner/work_source.h"

namespace attune {

/// A list of problems, with their results. Ids are places in the list.
class WorkList final : public WorkSource {
 public:
  /// `longest_first`: start with the longest problems, for several devices, so that no long one runs alone at the end.
  /// Otherwise in order: if a budget does not suffice for all, the first problems get the time they need. `device`: for
  /// the costs.
  WorkList(std::vector<WorkItem> items, const DeviceInfo& device, bool longest_first);

  std::optional<Task> take() override;
  void done(ProblemId id, const TuneResult& result) override;
  void give_back(ProblemId id) override;
  bool is_lost(ProblemId id) override;
  Remaining remaining() override;

  /// Gives up one problem, which may be open.
  void give_up(ProblemId id);
  /// Ends the problems that still wait as cut, with this reason, and reports them. Call it after the run.
  void cut_waiting(const std::string& reason, TuneObserver& observer);
  /// Returns the results in the order of the list. Call it after the run.
  std::vector<TuneResult> take_results();

 private:
  const std::vector<WorkItem> items_;
  std::vector<double> costs_s_;
  Mutex mutex_;
  std::deque<ProblemId> waiting_ ATTUNE_GUARDED_BY(mutex_);
  std::set<ProblemId> given_up_ ATTUNE_GUARDED_BY(mutex_);
  Remaining remaining_ ATTUNE_GUARDED_BY(mutex_);
  std::vector<TuneResult> results_ ATTUNE_GUARDED_BY(mutex_);
};

}  // namespace attune
