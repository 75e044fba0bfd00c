// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <functional>
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
#include "core/space/search_space.h"
#include "core/time_use.h"
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
  /// Hash of its output in an earlier process (AdmitAnswer::output); empty: none. Under a requirement that the plan
  /// states, the output must have it.
  std::string output;
  bool operator==(const Admission&) const = default;
};

/// Calls in a row that a recheck compares with one that it verified: what fails in every n-th call is found for n up to
/// this.
inline constexpr uint32_t kCallsInARow = 16;

/// Requests to an executor, of which it does one at a time; a supervisor sends them to its worker as they are.
namespace request {
/// Opens a problem; DeviceKind::max_open_problems may be open. Answered by OpenAnswer.
struct Open {
  ProblemId id = 0;
  Problem problem;
  Protocol protocol;
  /// If set, spaces that take long to list (Backend::offers()) hold, of these, what the library offers, and the untuned
  /// config. Others can be admitted all the same.
  std::optional<std::vector<Candidate>> candidates;
  bool operator==(const Open&) const = default;
};
/// Prepares and verifies a candidate. Answered by AdmitAnswer.
struct Admit {
  ProblemId id = 0;
  Slot slot = 0;
  Admission admission;
  bool operator==(const Admit&) const = default;
};
/// Runs the turns in order without a round trip between them. Answered by SampleAnswer.
struct Sample {
  std::vector<Turn> schedule;
  /// Whether candidates are verified again instead of timed, a turn for each: see Bench::recheck(). The answer has no
  /// turns; one that fails is in SampleAnswer::failed.
  bool recheck = false;
  bool operator==(const Sample&) const = default;
};
/// Replaces the worker by a fresh one, which opens its libraries and prepares everything that is open and admitted
/// anew, without verifying it. Blames nobody; a candidate that cannot be prepared again is in SampleAnswer::failed of
/// the next schedule that names it. Answered by RecycleAnswer.
struct Recycle {
  bool operator==(const Recycle&) const = default;
};
}  // namespace request
using Request = std::variant<request::Open, request::Admit, request::Sample, request::Recycle>;

struct OpenAnswer {
  ProblemId problem;
  /// Not empty if the problem cannot be run on this machine (too large …): the reason and a remedy.
  std::string refused;
  /// True if the problem fits, but not beside the open problem: open it again when that one is closed.
  bool busy = false;
  std::vector<Contender> contenders;
  /// True if it was refused because workers died without an announced candidate, which proves nothing about the
  /// problem. Set in the caller's process, never in a message.
  bool lost = false;
  /// What the worker's time went to since its last answer that says so. In its messages alone: see Executor::workers().
  TimeUse time;
  bool operator==(const OpenAnswer&) const = default;
};
struct AdmitAnswer {
  Slot slot;
  Outcome verified;
  uint32_t batch = 1;  ///< Launches per sample needed to make it long enough to time.
  uint64_t workspace_bytes = 0, rotation_bytes = 0;
  uint64_t launches = 0;     ///< Number of launches made for the admission.
  double bandwidth_gbs = 0;  ///< Measured for the working set of the timed launches; 0: unknown.
  /// True if it wrote to memory that was not its own; an executor with a worker process then replaces the worker.
  bool corrupted = false;
  /// Requirement that its plan states, and was found to keep as far as the protocol requires it.
  Requirement states = Requirement::none;
  /// Hash of its output for the operands that are timed, if the protocol has a requirement that its plan states; else
  /// empty. Executors expect it again from whatever worker restores the candidate.
  std::string output;
  /// How its samples can be timed: as the protocol says, or by events if its plan cannot be captured.
  Timing timing = Timing::clock;
  TimeUse time;  ///< See OpenAnswer::time.
  bool operator==(const AdmitAnswer&) const = default;
};
struct SampleAnswer {
  /// Life of the worker. If it differs from the last answer's, a worker died or was recycled meanwhile and a new one
  /// has everything that was open and admitted. Only samples of one epoch are paired.
  uint32_t epoch = 0;
  /// True if the worker died during this schedule, or made everything anew because of it; then there are no samples.
  bool interrupted = false;
  std::vector<Turn> turns;
  std::vector<Sample> samples;  ///< One per turn.
  uint64_t launches = 0;        ///< Includes untimed launches.
  uint32_t dropped = 0;         ///< Samples repeated because the clock was low.
  /// Slots that failed while they were sampled, or that could not be restored after a death; their samples are void.
  std::vector<std::pair<Slot, Outcome>> failed;
  /// True if a candidate failed a recheck, or left threads that run on: what ran in this worker proves nothing of the
  /// others. An executor with a worker process then replaces the worker, one without makes everything anew.
  bool suspect = false;
  /// True if it is interrupted because the request was aborted, so that it is not to be made again. Set in the caller's
  /// process, never in a message.
  bool is_cancelled = false;
  TimeUse time;  ///< See OpenAnswer::time.
  bool operator==(const SampleAnswer&) const = default;
};
struct RecycleAnswer {
  uint32_t epoch = 0;  ///< Epoch of the fresh worker.
  bool operator==(const RecycleAnswer&) const = default;
};
using Answer = std::variant<OpenAnswer, AdmitAnswer, SampleAnswer, RecycleAnswer>;

/// Called at least once a second while a request is outstanding; true: abort it. Must not throw.
using Tick = std::function<bool()>;

/// The answer to a request that was aborted: refused, cancelled or interrupted; a recycle gets `epoch`.
Answer cancelled(const Request& request, uint32_t epoch);

/// What runs candidates for an executor.
struct Workers {
  std::vector<pid_t> processes;  ///< Those other than this one; their processor time belongs to the run.
  TimeUse time;  ///< What their time went to since the executor was made, but for what one did when it died.
};

/// Runs candidates on one device, one request at a time: from begin() until take() returns the answer or throws, the
/// request is outstanding. measure/blocking_calls waits for answers. The executor recovers from a candidate's death or
/// hang and restores everything its worker lost: callers see them in outcomes and epochs only. Not thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual const DeviceInfo& device() const = 0;

  /// Begins a request and returns at once. Requires: none is outstanding.
  virtual void begin(Request request) = 0;
  /// For poll(): readable while take() has something to do, be it the answer or a step towards it, such as a look at
  /// deadlines a few times a second. The same number for the executor's life; -1 if take() does all in this process.
  virtual int descriptor() const = 0;
  /// The answer to the outstanding request, once; nullopt while the request is being done. Without a request it only
  /// looks after the processes that it has, and returns nullopt. Never waits for a request to be done in a worker, but
  /// while a fresh worker starts and gets what the last one had: after a death or for a recycle. What it throws ends
  /// the request: Error{device} when the device is lost, and errors that are no candidate's fault.
  virtual std::optional<Answer> take() = 0;
  /// Closes a problem or drops a candidate without an answer and at once; a worker frees it before the next request, in
  /// take(). What is not open or admitted is ignored. Requires: no request is outstanding.
  virtual void close(ProblemId id) = 0;
  virtual void drop(Slot slot) = 0;
  /// Says which problem will be opened next, whole, so that its candidates can be listed beside the work on others.
  /// Nothing: no request follows for a while, so that what is kept ready for one can be freed, which may take the end
  /// of a process. A hint: otherwise returns at once, at any time, and only the last one counts.
  virtual void prefetch(std::optional<request::Open>) {}
  /// Abandons the outstanding request, if there is one, at once if it is in a worker process; take() then returns the
  /// cancelled() answer. Open problems and admitted candidates may be lost; the caller should close them and stop.
  virtual void abort() = 0;
  /// Sets a function that take() calls at least once a second while it waits for a fresh worker, and an executor in
  /// this process between the steps of a request, beside which nobody else can call it: a launch that takes ten seconds
  /// is a gap of ten. When it returns true, take() acts like abort(). Empty: nothing. Copied.
  virtual void set_tick(Tick) {}
  virtual Workers workers() { return {}; }
};

}  // namespace attune
