// SPDX-License-Identifier: MIT
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/executor.h"
#include "worker/messages.h"
#include "worker/worker_process.h"

namespace attune {

/// An executor with one worker process for one device. When the worker dies, hangs past a deadline or
/// sends an invalid message, its process group is killed, the announced candidate is blamed, a fresh worker is started,
/// and everything that was open and admitted is restored. A candidate blamed once is tried again. A candidate blamed
/// twice is disqualified: its admission is answered with the outcome of its death, or it is in Sampled::failed. A
/// candidate that dies while it is closed or dropped costs the others only time. A death with no announced candidate is
/// retried; the third fails the request. Not thread-safe. Sleeps in poll() while the worker measures.
///
/// No candidate is disqualified for another's fault. The second try of an admission runs alone in a fresh worker. A
/// candidate that was announced at two deaths while sampled takes its turns alone in a fresh worker, then so does each
/// other candidate of the schedule; the one that dies there is disqualified. If none dies, as when the workers are
/// killed from outside, the candidate is cleared; one that is cleared twice leaves the contest undecided
/// (Status::device_lost). Processes that a candidate left behind are killed after each admission and each schedule; its
/// threads live as long as the worker.
class WorkerExecutor final : public Executor {
 public:
  /// Starts the first worker. Throws device with the last message when three workers in a row fail to start; what
  /// WorkerProcess throws; the worker's error for an unknown device or another build; and unavailable when
  /// WorkerOptions::stopped returns true before the worker is up.
  explicit WorkerExecutor(WorkerOptions options);
  ~WorkerExecutor() override;

  const DeviceInfo& device() const override { return device_; }
  void open(ProblemId id, const Problem& problem, const Protocol& protocol) override;
  void close(ProblemId id) override;
  void admit(ProblemId id, Slot slot, const Admission& admission) override;
  void drop(Slot slot) override;
  void sample(std::vector<Turn> schedule) override;
  void recycle() override { recycling_ = true; }
  /// Throws device when no worker can be started any more, and a worker's errors that are no candidate's fault.
  /// Recovery from a death may take longer than `timeout`; if WorkerOptions::stopped returns true meanwhile, this acts
  /// like abort().
  std::vector<Event> wait(Milliseconds timeout) override;
  void abort() override;
  std::vector<pid_t> processes() const override;

  uint32_t num_deaths() const noexcept { return num_deaths_; }
  /// Duration of the recovery from each death: until a worker was up again with everything it needed.
  const std::vector<Milliseconds>& recoveries() const noexcept { return recoveries_; }

 private:
  struct OpenProblem {
    Problem problem;
    Protocol protocol;
    std::map<Slot, Admission> slots;
  };
  struct LostSlot {
    ProblemId problem;
    Slot slot;
    Outcome outcome;
  };

  bool answer_first(std::chrono::steady_clock::time_point end);
  void start();
  void replace();
  void renew();
  void restore();
  void restore_for(ProblemId id);
  void complete();
  std::optional<Death> bring_back();
  static std::optional<Death> death_of(const Request& request, const WorkerProcess::Event& news);
  std::variant<Reply, Death> exchange(const Request& request, Milliseconds timeout);
  Milliseconds longest_step(const Request& request) const;
  void record_death(const Death& death, bool sampled = false);
  void disqualify(Slot slot, const Outcome& outcome);
  void find_faulty_slot(const request::Sample& sample, const Death& death);
  std::optional<Death> take_turns_alone(Slot slot, const std::vector<Turn>& schedule, Milliseconds timeout);
  void lose(Slot slot, const Outcome& outcome);
  void lose_all(ProblemId id, const Outcome& outcome);
  bool is_obsolete(const Request& request) const;
  void begin(const Request& request);
  void settle(const Request& request, Reply& answer);
  void end_strays() const;
  bool recover(const Request& request, const Death& death);
  bool handle_death(const Request& request, const Death& death);
  bool handle_admission_death(const request::Admit& admit, const Death& death);
  void tell_lost(const request::Sample& sample, Sampled& sampled);
  void cancel(const Request& request);
  void forget(const Request& request);

  WorkerOptions options_;
  DeviceInfo device_;
  std::unique_ptr<WorkerProcess> worker_;  ///< Null after abort(), until the next request.
  uint32_t epoch_ = 0, num_deaths_ = 0, num_admissions_ = 0;
  std::vector<Milliseconds> recoveries_;
  std::deque<Request> requests_;
  bool recycling_ = false;              ///< True until a recycle() is answered.
  bool asked_ = false;                  ///< True if the first request was sent and not answered.
  uint32_t num_deaths_of_request_ = 0;  ///< Deaths during the first request without a blamed candidate.
  std::vector<Event> events_;           ///< Events for the next wait().
  std::map<ProblemId, OpenProblem> open_;
  std::map<ProblemId, Outcome> broken_;        ///< Problems that could not be restored, until they are closed.
  std::optional<ProblemId> isolated_problem_;  ///< The only problem open in the worker, during a second try.
  Slot isolated_slot_ = 0;                     ///< The slot admitted in it since.
  /// Number of deaths blamed on each live slot since its admission or since another slot was disqualified, and on
  /// libraries.
  std::map<Slot, uint32_t> deaths_;
  std::map<Slot, uint32_t> num_survivals_;   ///< Number of times that each slot survived its turns alone.
  std::map<uint32_t, std::string> skipped_;  ///< Solvers that killed every worker that opened them, and the reason.
  /// Slots disqualified or not restored, to be reported with the next Sampled whose schedule has them.
  std::vector<LostSlot> lost_;
};

}  // namespace attune
