// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <optional>

#include "attune/problem.h"
#include "core/turn.h"
#include "tuner/problem/work_item.h"
#include "tuner/tune_result.h"

namespace attune {

/// Source of a tuner's problems: a list, a file, the queue of a fleet. Thread-safe: the thread of each device calls it.
/// Its functions may take milliseconds, not seconds, because they delay measurements.
class WorkSource {
 public:
  virtual ~WorkSource() = default;
  /// A problem that was given out. `id` is unique in its source and names the problem in the executor, too.
  struct Task {
    ProblemId id = 0;
    WorkItem item;
  };
  /// Returns a problem that no device has; nothing when none waits. The device answers once, with done() or
  /// give_back(). It may take one problem in advance while it measures another.
  virtual std::optional<Task> take() = 0;
  /// Takes the result of a problem; Ending::cut if the run ended first or the problem is lost.
  virtual void done(ProblemId id, const TuneResult& result) = 0;
  /// Takes a problem back because its device was lost. Another device may take it.
  virtual void give_back(ProblemId id) = 0;
  /// Whether the result of a problem that was given out is no longer wanted, for example because its lease expired or a
  /// user gave it up. Asked between the steps of a problem. Only this problem is then ended, without a Decision.
  virtual bool is_lost(ProblemId id) = 0;

  /// Problems that are not done, and their cost as forecast by expected_cost_s(). A source that does not know how many
  /// problems wait counts only the ones that it has given out.
  struct Remaining {
    size_t num_waiting = 0, num_open = 0;
    double cost_s = 0;
  };
  virtual Remaining remaining() = 0;
};

}  // namespace attune
