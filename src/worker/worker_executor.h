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

/// An executor across a process wall: one worker process, one device. When it dies, hangs past a deadline or says what
/// is no message, its group is killed, the candidate it had announced is blamed, a fresh worker is started, and all
/// that was open and admitted is so again. A candidate blamed once is tried again; blamed twice it is convicted: its
/// admission is answered with how it died, or it is in Sampled::failed. One that dies while it is closed or dropped
/// costs nobody else but time. A death with no announced candidate is retried; the third fails the request. One thread;
/// sleeps in poll() while the worker measures.
///
/// Nobody is convicted for what another did: the second try of an admission is alone in a fresh worker, and a candidate
/// that was announced at two deaths while sampled takes its turns alone in one, then each of the others that had
/// turns; who dies there is convicted. When nobody does, as when somebody kills the workers from outside, a candidate
/// that it happens to twice leaves the contest undecided (Status::device_lost). Processes that a candidate left are
/// ended after each admission and each schedule; its threads live as long as the worker.
class WorkerExecutor final : public Executor {
 public:
  /// Starts the first worker. Throws device when three in a row do not come up, with the last one's words; what
  /// WorkerProcess throws; what the worker says of a device or a build that it does not have; and unavailable when
  /// WorkerOptions::stopped says yes before it is up.
  explicit WorkerExecutor(WorkerOptions options);
  ~WorkerExecutor() override;

  const DeviceInfo& device() const override { return device_; }
  void open(ProblemId id, const Problem& problem, const Protocol& protocol) override;
  void close(ProblemId id) override;
  void admit(ProblemId id, Slot slot, const Admission& admission) override;
  void drop(Slot slot) override;
  void sample(std::vector<Turn> schedule) override;
  /// Throws device when no worker comes up any more, and what a worker says is no candidate's fault. Mending a death
  /// may take longer than `at_most`; when WorkerOptions::stopped says yes meanwhile, this is as abort().
  std::vector<Event> wait(Milliseconds at_most) override;
  void abort() override;
  std::vector<pid_t> processes() const override;

  uint32_t num_deaths() const noexcept { return num_deaths_; }
  /// How long each death took to mend: until a worker was up again with what it was wanted for.
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
  void revive();
  void revive_for(ProblemId id);
  void complete();
  std::optional<Death> bring_back();
  static std::optional<Death> death_of(const Request& request, const WorkerProcess::Event& news);
  std::variant<Reply, Death> exchange(const Request& request, Milliseconds at_most);
  Milliseconds longest_step(const Request& request) const;
  void record_death(const Death& death, bool sampled = false);
  void disqualify(Slot slot, const Outcome& outcome);
  void find_faulty_slot(const request::Sample& sample, const Death& death);
  std::optional<Death> take_turns_alone(Slot slot, const std::vector<Turn>& schedule, Milliseconds at_most);
  void lose(Slot slot, const Outcome& outcome);
  void lose_all(ProblemId id, const Outcome& outcome);
  bool is_moot(const Request& request) const;
  void begin(const Request& request);
  void settle(const Request& request, Reply& answer);
  void end_strays() const;
  bool mend(const Request& request, const Death& death);
  bool handle_death(const Request& request, const Death& death);
  bool handle_admission_death(const request::Admit& admit, const Death& death);
  void tell_lost(const request::Sample& sample, Sampled& sampled);
  void cancel(const Request& request);
  void forget(const Request& request);

  WorkerOptions options_;
  DeviceInfo device_;
  std::unique_ptr<WorkerProcess> worker_;  ///< Null after abort(), until there is something to do again.
  uint32_t epoch_ = 0, num_deaths_ = 0, num_admissions_ = 0;
  std::vector<Milliseconds> recoveries_;
  std::deque<Request> requests_;
  bool asked_ = false;                  ///< The first request is under way.
  uint32_t num_deaths_of_request_ = 0;  ///< Of the first one, that were nobody's doing.
  std::vector<Event> events_;           ///< To be returned by the next wait().
  std::map<ProblemId, OpenProblem> open_;
  std::map<ProblemId, Outcome> broken_;       ///< Problems that could not be brought back, until they are closed.
  std::optional<ProblemId> solo_problem_;     ///< The only problem that is open in the worker, for a second try.
  Slot solo_slot_ = 0;                        ///< Admitted in it since.
  std::map<Slot, uint32_t> deaths_;           ///< Blamed on each slot that is alive, since its admission or another's
                                              ///< conviction, and on libraries.
  std::map<Slot, uint32_t> num_acquittals_;   ///< Times that each outlived its turns alone.
  std::map<uint32_t, std::string> left_out_;  ///< Solvers that end every worker that opens them, and why.
  std::vector<LostSlot> lost_;  ///< Convicted, or not had again; told with the next Sampled that they are wanted in.
};

}  // namespace attune
