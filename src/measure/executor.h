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

/// Deadlines of one candidate; 0: none. In a worker process the candidate is ended at its deadline; in process it is
/// blamed when it returns.
struct Limits {
  Milliseconds load{0};  ///< Time allowed to prepare the candidate.
  Milliseconds run{0};   ///< Time allowed for each of its launches.
  bool operator==(const Limits&) const = default;
};

/// Parameters for the admission of one candidate.
struct Admission {
  Candidate candidate;
  std::vector<Binary> binaries;  ///< Binaries of its compile tasks, in task order.
  bool verify = true;            ///< False if an earlier run verified it under the same protocol and versions.
  bool twice = false;  ///< For finalists: two runs must agree with each other, unless declared non-deterministic.
  Limits limits;
  /// Whether a plan that does not state what the protocol requires is refused (unsupported); false for what a winner
  /// must beat, which may lack it.
  bool must_meet = true;
  /// Hash of its output in an earlier process (Admitted::output); empty: none. Under a requirement that the plan
  /// states, the output must have it.
  std::string output;
  bool operator==(const Admission&) const = default;
};

struct Opened {
  ProblemId problem;
  /// Not empty if the problem cannot be run on this machine (too large …): the reason and a remedy.
  std::string refused;
  /// True if the problem fits, but not beside the open problem: open it again when that one is closed.
  bool busy = false;
  std::vector<Contender> contenders;
  /// True if it was refused because workers died without an announced candidate, which proves nothing about the
  /// problem. Set in the caller's process, never in a message.
  bool lost = false;
  bool operator==(const Opened&) const = default;
};
struct Admitted {
  Slot slot;
  Outcome verified;
  uint32_t batch = 1;  ///< Launches per sample needed to make it long enough to time.
  uint64_t workspace_bytes = 0, rotation_bytes = 0;
  uint64_t launches = 0;  ///< Number of launches made for the admission.
  /// True if it wrote to memory that was not its own; an executor with a worker process then replaces the worker.
  bool corrupted = false;
  /// What its plan states, and was found to keep as far as the protocol requires it.
  Requirement states = Requirement::none;
  /// Hash of its output for the operands that are timed, if the protocol has a requirement that its plan states; else
  /// empty. Executors expect it again from whatever worker restores the candidate.
  std::string output;
  bool operator==(const Admitted&) const = default;
};
struct Sampled {
  /// Life of the worker. If it differs from the last answer's, a worker died or was recycled meanwhile and a new one
  /// has everything that was open and admitted. Only samples of one epoch are paired.
  uint32_t epoch = 0;
  bool interrupted = false;  ///< True if the worker died during this schedule; then there are no samples.
  std::vector<Turn> turns;
  std::vector<Sample> samples;  ///< One per turn.
  uint64_t launches = 0;        ///< Includes untimed launches.
  uint32_t dropped = 0;         ///< Samples repeated because the clock was low.
  /// Slots that failed while they were sampled, or that could not be restored after a death; their samples are void.
  std::vector<std::pair<Slot, Outcome>> failed;
  bool operator==(const Sampled&) const = default;
};
struct Recycled {
  uint32_t epoch = 0;  ///< Of the fresh worker.
  bool operator==(const Recycled&) const = default;
};
using Event = std::variant<Opened, Admitted, Sampled, Recycled>;

/// Runs candidates on one device. Calls enqueue; wait() returns the answers. Not thread-safe. The executor recovers
/// from a candidate's death or hang and restores everything its worker lost: callers see them in outcomes and epochs
/// only.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual const DeviceInfo& device() const = 0;
  /// Opens a problem; two may be open. Answered by Opened.
  virtual void open(ProblemId id, const Problem& problem, const Protocol& protocol) = 0;
  virtual void close(ProblemId id) = 0;
  /// Prepares and verifies a candidate. Answered by Admitted.
  virtual void admit(ProblemId id, Slot slot, const Admission& admission) = 0;
  virtual void drop(Slot slot) = 0;
  /// Runs the turns in order without a round trip between them. Answered by Sampled.
  virtual void sample(std::vector<Turn> schedule) = 0;
  /// Replaces the worker by a fresh one, which opens its libraries and prepares everything that is open and admitted
  /// anew, without verifying it. Answered by Recycled, once no enqueued request is left. Blames nobody; a candidate
  /// that cannot be prepared again is in Sampled::failed of the next schedule that names it.
  virtual void recycle() = 0;
  /// Blocks up to `timeout` for events; may return none.
  virtual std::vector<Event> wait(Milliseconds timeout) = 0;
  /// Abandons the enqueued requests, at once if they are in a worker process. Each is still answered: refused,
  /// cancelled or interrupted. Open problems and admitted candidates may be lost; the caller should close them and
  /// stop.
  virtual void abort() = 0;
  /// Processes other than this one in which candidates run; their processor time belongs to the run.
  virtual std::vector<pid_t> processes() const { return {}; }
};

}  // namespace attune
