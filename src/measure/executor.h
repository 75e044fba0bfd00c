// SPDX-License-Identifier: MIT
#pragma once
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
#include "solver/solver.h"

namespace attune {

/// What an executor answers for one solver when it opens a problem: data only.
struct Contender {
  std::string solver, version;  ///< `onednn.gemm`, `1+2.6.3`: with the config they make a Candidate.
  Versions versions;
  Support support;
  SearchSpace space;  ///< Empty when not supported.
  Config untuned;
  bool operator==(const Contender&) const = default;
};

struct Limits {
  Milliseconds load{0}, run{0};  ///< 0: none.
};

/// How one candidate is to be admitted.
struct Admission {
  Candidate candidate;
  std::vector<Binary> binaries;  ///< Of its compile tasks, in their order.
  bool verify = true;            ///< False: an earlier run verified it under the same protocol and versions.
  bool twice = false;  ///< Finalists: run twice, must agree with themselves unless declared non-deterministic.
  Limits limits;
};

struct Opened {
  ProblemId problem;
  std::string refused;  ///< Not empty: the problem cannot be run here (too large …), why and what to do.
  bool busy = false;    ///< It fits, but not beside the problem that is open: open it again when that is closed.
  std::vector<Contender> contenders;
};
struct Admitted {
  Slot slot;
  Outcome verified;
  uint32_t batch = 1;  ///< Launches a sample needs to be long enough to time.
  uint64_t workspace_bytes = 0, rotation_bytes = 0;
  uint64_t launches = 0;  ///< Spent on the admission.
};
struct Sampled {
  uint32_t epoch = 0;
  std::vector<Turn> turns;
  std::vector<Sample> samples;                   ///< One a turn.
  uint64_t launches = 0;                         ///< Untimed ones included.
  uint32_t dropped = 0;                          ///< Samples taken again because the clock was low.
  std::vector<std::pair<Slot, Outcome>> failed;  ///< Slots that failed while sampled; their samples are void.
};
/// A worker died and lives again: every slot of every problem is void.
struct Restarted {
  uint32_t epoch = 0;
  std::optional<Slot> blamed;
  Outcome outcome;
};
using Event = std::variant<Opened, Admitted, Sampled, Restarted>;

/// Runs candidates on one device. Calls enqueue; wait() returns what has happened. One thread.
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
  virtual void abort() noexcept = 0;  ///< Gives up everything enqueued.
};

}  // namespace attune
