// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "attune/problem.h"
#include "core/binary.h"
#include "core/candidate.h"
#include "core/device_info.h"
#include "core/outcome.h"
#include "core/record.h"
#include "core/search_space.h"
#include "core/turn.h"
#include "solver/contender.h"

namespace attune {

/// Deadlines of one candidate; 0: none. Across a process wall it is ended when one passes, in process it is blamed
/// when it returns.
struct Limits {
  Milliseconds load{0};  ///< Of preparing it.
  Milliseconds run{0};   ///< Of each of its launches.
  bool operator==(const Limits&) const = default;
};

/// How one candidate is to be admitted.
struct Admission {
  Candidate candidate;
  std::vector<Binary> binaries;  ///< Of its compile tasks, in their order.
  bool verify = true;            ///< False: an earlier run verified it under the same protocol and versions.
  bool twice = false;  ///< Finalists: run twice, must agree with themselves unless declared non-deterministic.
  Limits limits;
  bool operator==(const Admission&) const = default;
};

struct Opened {
  ProblemId problem;
  std::string refused;  ///< Not empty: the problem cannot be run here (too large …), why and what to do.
  bool busy = false;    ///< It fits, but not beside the problem that is open: open it again when that is closed.
  std::vector<Contender> contenders;
  /// Refused because workers died without an announced candidate: that says nothing of the problem. Set on the caller's
  /// side of a wall, never in a message.
  bool lost = false;
  bool operator==(const Opened&) const = default;
};
struct Admitted {
  Slot slot;
  Outcome verified;
  uint32_t batch = 1;  ///< Launches a sample needs to be long enough to time.
  uint64_t workspace_bytes = 0, rotation_bytes = 0;
  uint64_t launches = 0;  ///< Spent on the admission.
  bool spoilt = false;    ///< It wrote to memory that was not its own; across a wall the worker is replaced.
  bool operator==(const Admitted&) const = default;
};
struct Sampled {
  /// Life of the worker. One that differs from the last answer's: a worker died meanwhile and lives again with all that
  /// was open and admitted, and only samples of one epoch are paired.
  uint32_t epoch = 0;
  bool interrupted = false;  ///< The worker died in this schedule: there are no samples.
  std::vector<Turn> turns;
  std::vector<Sample> samples;  ///< One a turn.
  uint64_t launches = 0;        ///< Untimed ones included.
  uint32_t dropped = 0;         ///< Samples taken again because the clock was low.
  /// Slots that failed while sampled, or that could not be had again after a death; their samples are void.
  std::vector<std::pair<Slot, Outcome>> failed;
  bool operator==(const Sampled&) const = default;
};
using Event = std::variant<Opened, Admitted, Sampled>;

/// Runs candidates on one device. Calls enqueue; wait() returns what has happened. One thread. A candidate's death, a
/// hang and all that its worker loses with it are the executor's to mend: they show in outcomes and epochs only.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual const DeviceInfo& device() const = 0;
  /// Two problems may be open. Answered by Opened.
  virtual void open(ProblemId id, const Problem& problem, const Protocol& protocol) = 0;
  virtual void close(ProblemId id) = 0;
  /// Prepares and verifies. Answered by Admitted.
  virtual void admit(ProblemId id, Slot slot, const Admission& admission) = 0;
  virtual void drop(Slot slot) = 0;
  /// Runs the turns in order without a round trip between them. Answered by Sampled.
  virtual void sample(std::vector<Turn> schedule) = 0;
  /// Blocks up to `at_most` for events; may return none.
  virtual std::vector<Event> wait(Milliseconds at_most) = 0;
  /// Gives up what is enqueued, at once where a process wall allows it: each request is answered all the same, refused,
  /// cancelled or interrupted. What is open and admitted may be lost: close it and go.
  virtual void abort() = 0;
  /// Processes in which candidates run, other than this one: what they use of the processors is the run's own.
  virtual std::vector<pid_t> processes() const { return {}; }
};

}  // namespace attune
