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
  /// Whether a plan is refused (unsupported) if it does not state what the protocol requires. False for a default
  /// config, which may lack it.
  bool must_meet = true;
  /// Hash of its output in an earlier process (AdmitAnswer::output); empty: none. If the plan states a requirement, the
  /// output must have this hash.
  std::string output;
  bool operator==(const Admission&) const = default;
};

/// Number of successive calls that a recheck compares with a verified one. It finds a fault in every n-th call for n up
/// to this.
inline constexpr uint32_t kCallsInARow = 16;

/// Requests to an executor, which does one at a time. A supervisor sends them to its worker unchanged.
namespace request {
/// Opens a problem; DeviceKind::max_open_problems may be open. Answered by OpenAnswer.
struct Open {
  ProblemId id = 0;
  Problem problem;
  Protocol protocol;
  /// If set, limits the spaces that take long to list (Backend::offers()): they hold the default config and those of
  /// these candidates that the library offers. Other candidates can be admitted all the same.
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
  /// Whether candidates are verified again instead of timed, one turn each: see Bench::recheck(). The answer has no
  /// turns; a candidate that fails is in SampleAnswer::failed.
  bool recheck = false;
  bool operator==(const Sample&) const = default;
};
/// Replaces the worker by a fresh one. That opens its libraries again and prepares all open problems and admitted
/// candidates without verifying them. No candidate is blamed. One that cannot be prepared again is in
/// SampleAnswer::failed of the next schedule that names it. Answered by RecycleAnswer.
struct Recycle {
  bool operator==(const Recycle&) const = default;
};
}  // namespace request
using Request = std::variant<request::Open, request::Admit, request::Sample, request::Recycle>;

struct OpenAnswer {
  ProblemId problem;
  /// Not empty if the problem cannot be run on this machine (too large …): the reason and a remedy.
  std::string refused;
  /// True if there is too little memory while another problem is open. Retry after closing it.
  bool busy = false;
  /// True if it was refused because the device has too little free memory now. Another run may decide the problem.
  bool lacks_memory = false;
  std::vector<Contender> contenders;
  /// True if it was refused because workers died without an announced candidate, which proves nothing about the
  /// problem. Set in the caller's process, never in a message.
  bool lost = false;
  /// The worker's time since its last answer with times. Set in messages only: see Executor::workers().
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
  /// True if the problem's own operands found no memory, which says nothing about the candidate.
  bool lacks_memory = false;
  /// Requirement that its plan states and that it was found to keep, as far as the protocol requires it.
  Requirement states = Requirement::none;
  /// Hash of its output for the timed operands, if the plan states a requirement of the protocol; else empty. Executors
  /// expect the same hash from each later worker that restores the candidate.
  std::string output;
  /// How its samples can be timed: as the protocol says, or by events if its plan cannot be captured.
  Timing timing = Timing::clock;
  TimeUse time;  ///< See OpenAnswer::time.
  bool operator==(const AdmitAnswer&) const = default;
};
struct SampleAnswer {
  /// Life of the worker. If it differs from the last answer's, the worker died or was recycled since. A new one then
  /// has all open problems and admitted candidates. Only samples of one epoch are paired.
  uint32_t epoch = 0;
  /// True if the worker died during this schedule, or rebuilt its state because of it; then there are no samples.
  bool interrupted = false;
  std::vector<Turn> turns;
  std::vector<Sample> samples;  ///< One per turn.
  uint64_t launches = 0;        ///< Includes untimed launches.
  uint32_t dropped = 0;         ///< Samples repeated because the clock was low.
  /// Slots that failed while they were sampled, or that could not be restored after a death; their samples are void.
  std::vector<std::pair<Slot, Outcome>> failed;
  /// True if a candidate failed a recheck, or left threads that run on. Results from this worker then prove nothing
  /// about the other candidates. An executor with a worker process replaces the worker; one without rebuilds its state.
  bool suspect = false;
  /// True if it is interrupted because the request was aborted, so the caller must not repeat it. Set in the caller's
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

/// Processes that run candidates for an executor.
struct Workers {
  /// Processes other than this one. Their processor time belongs to the run.
  std::vector<pid_t> processes;
  /// Their time by activity since the executor was made. Time that a worker had not reported when it died is missing.
  TimeUse time;
};

/// Runs candidates on one device, one request at a time. A request is outstanding from begin() until take() returns the
/// answer or throws. measure/blocking_calls waits for answers. The executor recovers from a candidate's death or hang
/// and restores the state that its worker lost: callers see only outcomes and epochs. Not thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual const DeviceInfo& device() const = 0;

  /// Begins a request and returns at once. Requires: no request is outstanding.
  virtual void begin(Request request) = 0;
  /// File descriptor for poll(): readable when take() has work, such as the answer or a look at deadlines a few times a
  /// second. It stays the same for the executor's life. -1 if take() does all work in this process.
  virtual int descriptor() const = 0;
  /// Returns the answer to the outstanding request, once; nullopt while the request runs. Without a request it only
  /// looks after its processes and returns nullopt. It never waits for a worker to finish a request. It does wait while
  /// a fresh worker starts and restores the state of the last one: after a death or for a recycle. An exception ends
  /// the request: Error{device} when the device is lost, and errors that are no candidate's fault.
  virtual std::optional<Answer> take() = 0;
  /// Closes a problem or drops a candidate at once, without an answer. A worker frees it before the next request, in
  /// take(). Ignored if it is not open or admitted. Requires: no request is outstanding.
  virtual void close(ProblemId id) = 0;
  virtual void drop(Slot slot) = 0;
  /// Announces the next problem, so that its candidates can be listed during the work on others. Empty: no request
  /// follows for a while, so resources kept for one can be freed; this may wait for a process to end. A hint: otherwise
  /// returns at once, may be called at any time, and only the last call counts.
  virtual void prefetch(std::optional<request::Open>) {}
  /// Abandons the outstanding request, if there is one, at once if a worker process does it. take() then returns the
  /// cancelled() answer. Open problems and admitted candidates may be lost; the caller should close them and stop.
  virtual void abort() = 0;
  /// Sets a function that take() calls at least once a second while it waits for a fresh worker. An executor in this
  /// process calls it between the steps of a request; a launch that takes ten seconds is a gap of ten. When it returns
  /// true, take() acts like abort(). Empty: none. Copied.
  virtual void set_tick(Tick) {}
  virtual Workers workers() { return {}; }
};

}  // namespace attune
