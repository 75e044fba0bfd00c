// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <optional>

#include "attune/problem.h"
#include "core/turn.h"
#include "tuner/problem/work_item.h"
#include "tuner/tune_result.h"

namespace attune {

/// Where a tuner gets its problems from: a list, a file, the queue of a fleet. Thread-safe: the thread of each device
/// calls it. Its functions may take milliseconds, not seconds, because they delay measurements.
class WorkSource {
 public:
  virtual ~WorkSource() = default;
  /// A problem that was given out. `id` is unique in its source and names the problem in the executor, too.
  struct Task {
    ProblemId id = 0;
    WorkItem item;
  };
  /// Returns a problem that no device has; nothing when none waits. The device answers with done() or give_back(),
  /// once. It may take one ahead, while another is measured.
  virtual std::optional<Task> take() = 0;
  /// Takes the result of a problem; Ending::cut if the run ended first or the problem is lost.
  virtual void done(ProblemId id, const TuneResult& result) = 0;
  /// Takes a problem back whose device was lost: another one may take it.
  virtual void give_back(ProblemId id) = 0;
  /// Whether nobody wants the result of a problem any more that is given out, as when its lease has ended or somebody
  /// gave it up. Asked between the steps of a problem; it alone is then ended without a Decision.
  virtual bool is_lost(ProblemId id) = 0;

  /// Problems that are not done, and their expected cost as in expected_cost_s(); a source that cannot know counts
  /// those that it has given out.
  struct Remaining {
    size_t num_waiting = 0, num_open = 0;
    double cost_s = 0;
  };
  virtual Remaining remaining() = 0;
};

}  // namespace attune
