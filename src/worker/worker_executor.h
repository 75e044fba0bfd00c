// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "measure/executor.h"
#include "process/poll_set.h"
#include "worker/ending_worker.h"
#include "worker/messages.h"
#include "worker/open_problems.h"
#include "worker/recoveries.h"
#include "worker/sharing/shared_device.h"
#include "worker/spare_worker.h"
#include "worker/worker_process.h"

namespace attune {

/// Runs candidates in one worker process for one device. When the worker dies, hangs past a deadline or sends an
/// invalid message, the executor kills its process group and blames the announced candidate. It then starts a fresh
/// worker and restores everything that was open and admitted. A candidate blamed once is tried again. A candidate
/// blamed twice is disqualified: its admission is answered with the outcome of its death, or it is in
/// SampleAnswer::failed. A candidate that dies while it is closed or dropped costs the others only time. A death with
/// no announced candidate is retried; the third fails the request. A candidate that does not load (load_failed) is
/// tried once more in a fresh worker, until that did not help three times. Not thread-safe.
///
/// No candidate is disqualified for another's fault. The second try of an admission runs alone in a fresh worker. A
/// candidate that was announced at two deaths while sampled takes its turns alone in a fresh worker, then so does each
/// other candidate of the schedule; the one that dies there is disqualified. If none dies, as when the workers are
/// killed from outside, the candidate is cleared; one that is cleared twice leaves the contest undecided
/// (Status::device_lost). Processes that a candidate left behind are killed after each admission and each schedule; its
/// threads live as long as the worker.
///
/// With WorkerOptions::spare a second worker stands by. It starts at the first admission after a prefetch(), or at the
/// first fresh worker. Whenever a fresh worker is wanted it takes over, and another one starts in parallel with the
/// work that follows. Until then it lists the problem of prefetch(). No sample is taken while it opens the device. Its
/// death costs nothing; after two deaths no other one is started. None stands by from prefetch(nullopt) until the next
/// prefetch(). With this option, the process of a worker that was replaced or hung ends in parallel with the work of
/// the next one, but for three things. Samples wait until it is gone. Problems and candidates wait if it was killed in
/// the middle of a request. They also wait if its problems and the next one's together take more than a quarter of the
/// device's memory (or of WorkerOptions::device_memory_share of it).
///
/// With WorkerOptions::shared other executors use the device, too. A request that takes samples waits until they do
/// nothing there, and they wait for its end. The start of a worker that is to stand by waits, too. Waiting is not a
/// step, so no deadline counts it.
class WorkerExecutor final : public Executor {
 public:
  /// Starts the first worker. Throws device with the last message when three workers in a row fail to start; what
  /// WorkerProcess throws; the worker's error for an unknown device or another build; and unavailable when
  /// WorkerOptions::stopped returns true before the worker is up.
  explicit WorkerExecutor(WorkerOptions options);
  ~WorkerExecutor() override;

  const DeviceInfo& device() const override { return device_; }
  void begin(Request request) override;
  int descriptor() const override { return poll_set_.descriptor(); }
  /// Throws device when no worker can be started, and a worker's errors that no candidate caused; then nothing is open.
  /// Blocks while a fresh worker starts and is restored: after a death or an abort, for a recycle, and after
  /// WorkerOptions::max_admissions. While it blocks, it calls the tick ten times a second; if that or
  /// WorkerOptions::stopped returns true, this acts like abort().
  std::optional<Answer> take() override;
  void close(ProblemId id) override;
  void drop(Slot slot) override;
  void prefetch(std::optional<request::Open> open) override;
  void abort() override;
  void set_tick(Tick tick) override { tick_ = std::move(tick); }
  Workers workers() override;

  /// False after an error of the device and after abort(), until the next request.
  bool has_worker() const noexcept { return worker_ != nullptr; }
  uint32_t num_deaths() const noexcept { return num_deaths_; }
  /// One for each death of a worker that was up, except deaths that an abort followed.
  const std::vector<Recovery>& recoveries() const noexcept { return recoveries_.all(); }

 private:
  static constexpr Milliseconds kLook{100};  ///< Interval for checking whether to stop.

  static double seconds_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }
  bool is_outstanding() const noexcept { return if_aborted_ || answer_; }
  bool answer_first();
  bool send(const WorkerRequest& request);
  void ask(const WorkerRequest& request);
  bool settle(const WorkerRequest& request, Reply& reply);
  bool settle_opened(const request::Open& open, OpenAnswer& opened);
  void forget(const WorkerRequest& request);

  void note_time(Reply& reply);
  request::Hello hello() const {
    return {options_.device,
            options_.build,
            options_.cores,
            skipped_,
            options_.device_memory_share,
            options_.device_memory_reserve,
            options_.stored_toolchains};
  }
  [[noreturn]] void fail_start(const reply::Failure& failed) const;
  bool has_device_for(SharedDevice::Use use);
  void leave_device();
  void set_worker(std::unique_ptr<WorkerProcess> worker);
  void start();
  void start_fresh();
  void replace();
  void let_end(std::unique_ptr<WorkerProcess> worker);
  void wait_for_end();
  void look_at_end();
  bool has_room_for_two() const;
  bool makes_room(bool lacks_memory);
  bool wants_fresh_context(Slot slot, Status status);
  bool needs_memory_of_ending(const request::Open* next = nullptr) const;
  bool waits_for_end(const WorkerRequest& request) const;
  void await_end(const WorkerRequest& request);
  void note_change(std::chrono::steady_clock::time_point since);
  void restore();
  void restore_for(ProblemId id);
  WorkerProcess::Event reopen(const OpenProblems::OpenProblem& one);
  WorkerProcess::Event readmit(const request::Admit& one);
  std::optional<Death> bring_back();
  void start_spare();
  void look_at_others();
  void serve_spare();
  void end_spare();
  bool take_over_from_spare();
  bool waits_for_spare(const WorkerRequest& request) const;
  void throw_if_stopped() const;
  WorkerProcess::Event exchange(const WorkerRequest& request);
  Milliseconds longest_step(const WorkerRequest& request) const;

  bool handle_death(const WorkerRequest& request, const Death& death);
  bool record_death(const Death& death, bool sampled = false);
  void find_faulty_slot(const request::Sample& sample, const Death& death);
  std::optional<Death> take_turns_alone(Slot slot, const std::vector<Turn>& schedule, Milliseconds timeout);

  WorkerOptions options_;
  Tick tick_;
  DeviceInfo device_;
  PollSet poll_set_;                       ///< Watches the workers.
  std::optional<DeviceUser> user_;         ///< Nothing: no other executor uses the device. It outlives the workers.
  std::optional<EndingWorker> ending_;     ///< Nothing: no worker is about to end.
  std::unique_ptr<WorkerProcess> worker_;  ///< Null after abort(), until the next request.
  uint32_t epoch_ = 0, num_deaths_ = 0, num_admissions_ = 0;
  Recoveries recoveries_;
  /// Requests to close and drop, then the outstanding request, unless it is a recycle.
  std::deque<WorkerRequest> requests_;
  bool asked_ = false;                  ///< True if the first of them was sent and not answered.
  uint32_t num_deaths_of_request_ = 0;  ///< Deaths during the first request without a blamed candidate.
  std::optional<Answer> if_aborted_;    ///< Answer to the outstanding request if it is aborted; empty: no request.
  std::optional<Answer> answer_;        ///< The answer that take() returns next.
  std::optional<Slot> reloading_;       ///< The candidate that is tried again because it did not load.
  uint32_t num_vain_reloads_ = 0;       ///< How often that did not help.
  OpenProblems problems_;
  TimeUse time_;
  /// When the worker last reported its time use, or began to wait.
  std::chrono::steady_clock::time_point told_at_;
  std::optional<ProblemId> isolated_problem_;  ///< The only problem open in the worker, during a second try.
  Slot isolated_slot_ = 0;                     ///< The slot admitted in it since.
  std::map<uint32_t, std::string> skipped_;    ///< Solvers that killed every worker that opened them, and the reason.
  std::unique_ptr<SpareWorker> spare_;         ///< Null: no worker stands by.
  uint32_t num_failed_spares_ = 0;
  uint64_t free_bytes_ = ~uint64_t{0};     ///< Memory of the device that was free when the first worker was up.
  bool is_told_ahead_ = false;             ///< Whether prefetch() has announced a next problem.
  bool is_resting_ = false;                ///< Whether the last prefetch() announced that no problem follows.
  std::optional<request::Open> expected_;  ///< The problem that the spare worker is to list next.
  std::optional<Listing> listing_;         ///< The last listing of the spare worker.
  bool is_limited_ = false;                ///< Whether the worker was asked to open without listing.
  /// Since when the first request waits for the spare worker.
  std::optional<std::chrono::steady_clock::time_point> waits_since_;
  double waited_s_ = 0;  ///< How long it waited for the spare worker.
  /// Since when it waits for the change of workers to be over.
  std::optional<std::chrono::steady_clock::time_point> held_since_;
  bool wants_spare_ = false;  ///< Whether a worker is to stand by, and has not been started yet.
  std::optional<std::chrono::steady_clock::time_point> queues_since_;  ///< Since when it waits for its turn.
  double queued_s_ = 0;  ///< How long the outstanding request waited for its turns.
};

}  // namespace attune
