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

/// Runs candidates in this process, on the calling thread, inside wait(): what a worker does behind its wall, and what
/// tests and `attune bench` do without one. It cannot stop a candidate that hangs or survive one that crashes; one that
/// ends after its deadline is `timed_out`. Epoch is always 0.
class LocalExecutor final : public Executor {
 public:
  /// All must outlive it. A library is opened on the device when the first problem asks, and stays open. `announcer` is
  /// told whose doing the next steps are; null: nobody is.
  LocalExecutor(Device& device, const Registry& registry, Announcer* announcer = nullptr);
  ~LocalExecutor() override;
  /// Solvers, by their place in the registry, that are not to be opened, and why.
  void leave_out(std::map<uint32_t, std::string> solvers) { left_out_ = std::move(solvers); }

  const DeviceInfo& device() const override { return device_.info(); }
  /// Refused (Opened::refused) when two are open, when memory does not suffice, or when the problem is not one.
  void open(ProblemId id, const Problem& problem, const Protocol& protocol) override;
  void close(ProblemId id) override;
  void admit(ProblemId id, Slot slot, const Admission& admission) override;
  void drop(Slot slot) override;
  void sample(std::vector<Turn> schedule) override;
  /// Does enqueued commands until one has an answer. Sampled holds the turns that count: those of a slot that failed
  /// are left out. Throws only for what is no candidate's fault.
  std::vector<Event> wait(Milliseconds at_most) override;
  void abort() override;

 private:
  struct Library;
  struct OpenProblem {
    Problem problem;
    Protocol protocol;
    std::vector<Contender> contenders;
    double bytes = 0;                               ///< What the bench takes, packed weights included.
    std::map<std::string, WeightPacking> packings;  ///< Of the layouts that contenders name, by name; not `plain`.
    std::unique_ptr<Bench> bench;  ///< Made by the first admission: a problem that is only asked about costs little.
    std::map<Slot, Milliseconds> loads;  ///< Limit of loading each admitted slot, and of giving it back.
    Outcome broken;                      ///< Why there is no bench; every candidate of the problem ends so.
  };
  struct Command {
    std::function<std::vector<Event>()> run;
    std::vector<Event> cancelled;  ///< Its answer after abort().
  };

  Opened do_open(ProblemId id, const Problem& problem, const Protocol& protocol);
  Admitted do_admit(ProblemId id, Slot slot, const Admission& admission);
  Sampled do_sample(const std::vector<Turn>& schedule);
  std::string reason_to_refuse(double bytes) const;
  bool fits_beside_the_open(double bytes) const;
  bool make_bench(OpenProblem& opening, bool references);
  Contender contender_of(const SolverEntry& entry, const Problem& problem);
  void find_packings(OpenProblem& opening);
  void check_layout(const OpenProblem& opening, const Config& config) const;
  Library& library(const Solver& solver);
  Outcome prepare(OpenProblem& opening, const Admission& admission, std::unique_ptr<Plan>& plan);
  Outcome try_out(OpenProblem& opening, const Admission& admission, Bench::Entrant& entrant, Admitted& answer);
  OpenProblem* opening_of(Slot slot);
  void give_back(OpenProblem& opening, Slot slot);
  void do_close(ProblemId id);
  void announce(Slot slot, Milliseconds limit);

  Device& device_;
  const Registry& registry_;
  Announcer* announcer_;
  std::map<uint32_t, std::string> left_out_;
  SealedBinaries binaries_;
  std::map<std::string, std::unique_ptr<Library>, std::less<>> libraries_;  ///< By solver id; outlive the plans.
  std::map<ProblemId, OpenProblem> open_;
  std::deque<Command> commands_;
};

}  // namespace attune
