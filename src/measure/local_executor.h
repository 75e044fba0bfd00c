// SPDX-License-Identifier: MIT
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "measure/bench.h"
#include "measure/executor.h"
#include "measure/sealed_binaries.h"
#include "solver/registry.h"

namespace attune {

/// Runs candidates in this process, on the calling thread, inside wait(). A worker uses it behind its wall; tests and
/// `attune bench` use it without one. It cannot stop a candidate that hangs or survive one that crashes; a candidate
/// that ends after its deadline is `timed_out`. recycle() frees all plans, benches and opened libraries, and makes them
/// anew.
class LocalExecutor final : public Executor {
 public:
  /// All arguments must outlive it. A library is opened on the device when the first problem needs it, and stays open.
  /// `announcer` receives the slot responsible for the next steps; it may be null.
  LocalExecutor(Device& device, const Registry& registry, Announcer* announcer = nullptr);
  ~LocalExecutor() override;
  /// Sets the solvers, by their place in the registry, that must not be opened, and the reasons.
  void skip_solvers(std::map<uint32_t, std::string> solvers) { skipped_ = std::move(solvers); }

  const DeviceInfo& device() const override { return device_.info(); }
  /// Refused (Opened::refused) when two problems are open, when memory does not suffice, or when the problem is
  /// invalid.
  void open(ProblemId id, const Problem& problem, const Protocol& protocol) override;
  void close(ProblemId id) override;
  void admit(ProblemId id, Slot slot, const Admission& admission) override;
  void drop(Slot slot) override;
  void sample(std::vector<Turn> schedule) override;
  void recycle() override;
  /// Runs enqueued commands until one has an answer. Sampled holds the turns that count: those of a slot that failed
  /// are excluded. Throws only for errors that are no candidate's fault.
  std::vector<Event> wait(Milliseconds timeout) override;
  void abort() override;

 private:
  struct Library;
  struct OpenProblem {
    Problem problem;
    Protocol protocol;
    std::vector<Contender> contenders;
    double bytes = 0;  ///< Bytes that the bench needs, packed weights included.
    /// Packings of the layouts that contenders name, by layout name; without `plain`.
    std::map<std::string, WeightPacking> packings;
    /// Made by the first admission, so that a problem that is only queried costs little.
    std::unique_ptr<Bench> bench;
    std::map<Slot, Admission> admitted;  ///< Their time limit for loading is that for freeing them, too.
    Outcome broken;  ///< Reason why there is no bench; the outcome of every candidate of the problem.
  };
  struct Command {
    std::function<std::vector<Event>()> run;
    std::vector<Event> cancelled;  ///< Answer after abort().
  };

  Opened do_open(ProblemId id, const Problem& problem, const Protocol& protocol);
  Admitted do_admit(ProblemId id, Slot slot, const Admission& admission);
  Sampled do_sample(const std::vector<Turn>& schedule);
  Recycled do_recycle();
  void restore(ProblemId id, const OpenProblem& opening);
  std::string reason_to_refuse(double bytes) const;
  bool fits_beside_the_open(double bytes) const;
  bool make_bench(OpenProblem& opening, bool references);
  Contender contender_of(const SolverEntry& entry, const Problem& problem);
  void find_packings(OpenProblem& opening);
  void check_layout(const OpenProblem& opening, const Config& config) const;
  Library& library(const Solver& solver);
  Outcome prepare(OpenProblem& opening, const Admission& admission, std::unique_ptr<Plan>& plan);
  std::vector<OtherRows> prepare_other_rows(OpenProblem& opening, const Admission& admission);
  Outcome try_out(OpenProblem& opening, const Admission& admission, Bench::Entrant& entrant, Admitted& answer);
  OpenProblem* opening_of(Slot slot);
  void give_back(OpenProblem& opening, Slot slot);
  void do_close(ProblemId id);
  void announce(Slot slot, Milliseconds limit);

  Device& device_;
  const Registry& registry_;
  Announcer* announcer_;
  std::map<uint32_t, std::string> skipped_;
  SealedBinaries binaries_;
  /// By solver id; the libraries outlive the plans.
  std::map<std::string, std::unique_ptr<Library>, std::less<>> libraries_;
  std::map<ProblemId, OpenProblem> open_;
  uint32_t epoch_ = 0;            ///< Number of recycles.
  std::map<Slot, Outcome> lost_;  ///< Slots that were not restored, until a schedule names them.
  std::deque<Command> commands_;
};

}  // namespace attune
