// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/bench.h"
#include "measure/evaluate.h"
#include "measure/executor.h"
#include "measure/opened_solvers.h"
#include "measure/sealed_binaries.h"
#include "measure/step_ticks.h"
#include "measure/threads/left_threads.h"
#include "solver/registry.h"

namespace attune {

/// Runs candidates in this process, on the calling thread, inside take(). A worker uses it behind its wall; tests and
/// `--isolation none` use it without one. It cannot stop a candidate that hangs or survive one that crashes; a
/// candidate that ends after its deadline is `timed_out`. A recycle frees all plans, benches and opened libraries, and
/// makes them again. A problem is refused (OpenAnswer::refused) when it is invalid or memory does not suffice. It is
/// told to wait (OpenAnswer::busy) when the maximum of the device's kind is open. SampleAnswer holds the turns that
/// count; turns of a failed slot are excluded. The tick is called between steps and while references are computed. The
/// smallest steps are a launch, a turn and an opened library. A request that the tick stops ends at its next step.
///
/// No result leaves it that another candidate could have falsified. Where memory has no protection, the memory that all
/// candidates share is hashed before the answer to an admission or a schedule. If the turns of several candidates
/// changed it, none of them counts: all open problems are rebuilt and the schedule is interrupted. From then on each
/// turn is followed by a hash, which identifies the candidate.
class LocalExecutor final : public Executor {
 public:
  /// All arguments must outlive it. `announcer` receives the slot responsible for the next steps; it may be null.
  LocalExecutor(Device& device, const Registry& registry, Announcer* announcer = nullptr);
  ~LocalExecutor() override;
  /// Sets the solvers, by their place in the registry, that must not be opened, and the reasons.
  void skip_solvers(std::map<uint32_t, std::string> solvers) { solvers_.skip(std::move(solvers)); }
  /// See OpenedSolvers::set_stored_toolchains().
  void set_stored_toolchains(Toolchains all) { solvers_.set_stored_toolchains(std::move(all)); }
  /// Sets the share of the device's memory that problems may take if other executors use the device, too; above 0, at
  /// most 1.
  void set_memory_share(double share) { memory_share_ = share; }
  /// Sets how many bytes of the device's memory problems leave free; 0 before.
  void set_memory_reserve(uint64_t bytes) { memory_reserve_ = bytes; }

  const DeviceInfo& device() const override { return device_.info(); }
  void begin(Request request) override;
  int descriptor() const override { return -1; }
  std::optional<Answer> take() override;
  void close(ProblemId id) override;
  void drop(Slot slot) override;
  void abort() override { is_aborted_ = true; }
  void set_tick(Tick tick) override { steps_.set(std::move(tick)); }
  Workers workers() override { return {.processes = {}, .time = device_.time().use()}; }

 private:
  /// Notes during its life which candidate runs.
  class CandidateScope {
   public:
    CandidateScope(const Candidate*& place, const Candidate& candidate) : place_(place) { place_ = &candidate; }
    ~CandidateScope() { place_ = nullptr; }
    CandidateScope(const CandidateScope&) = delete;
    CandidateScope& operator=(const CandidateScope&) = delete;

   private:
    const Candidate*& place_;
  };
  struct OpenProblem {
    Problem problem;
    Protocol protocol;
    std::vector<Contender> contenders;
    double bytes = 0;  ///< Bytes that it needs: its bench, packed weights and DeviceKind::plan_bytes.
    double room = 0;   ///< Bytes that it could have when it was opened.
    /// Packings of the layouts that contenders name, by layout name; without `plain`.
    std::map<std::string, WeightPacking> packings;
    /// Made by the first admission, so that a problem that is only queried costs little.
    std::unique_ptr<Bench> bench;
    std::map<Slot, Admission> admitted;  ///< Their time limit for loading also limits freeing them.
    Outcome broken;  ///< Reason why there is no bench; the outcome of every candidate of the problem.
    SpaceListing listing = SpaceListing::whole;
  };
  OpenAnswer answer(const request::Open& open);
  AdmitAnswer answer(const request::Admit& admit);
  SampleAnswer answer(const request::Sample& sample);
  RecycleAnswer answer(const request::Recycle& recycle);
  void restore(ProblemId id, const OpenProblem& open_problem);
  double room() const;
  std::string lack_of_memory(double bytes, double here) const;
  bool has_memory_for(double bytes, OpenAnswer& answer) const;
  bool make_bench(OpenProblem& open_problem, bool references);
  void find_packings(OpenProblem& open_problem);
  void check_layout(const OpenProblem& open_problem, const Config& config) const;
  Outcome prepare(OpenProblem& open_problem, const Admission& admission, std::unique_ptr<Plan>& plan);
  std::vector<OtherRows> prepare_other_rows(OpenProblem& open_problem, const Admission& admission);
  Outcome try_out(OpenProblem& open_problem, const Admission& admission, Bench::EntrantPlan& entrant,
                  AdmitAnswer& answer);
  OpenProblem* open_problem_of(Slot slot);
  void give_back(OpenProblem& open_problem, Slot slot);
  void announce(Slot slot, Milliseconds limit);
  Outcome evaluate_step(Step step, const std::function<Finding()>& work);
  void check_device(const std::string& detail);
  bool are_operands_intact() const;
  void check_operands(Slot slot);
  SampleAnswer recheck(const std::vector<Turn>& turns);
  SampleAnswer take_turns(const std::vector<Turn>& schedule, bool checks_each_turn);
  [[noreturn]] void give_up(const std::string& why);

  Device& device_;
  const Registry& registry_;
  StepTicks steps_;
  SealedBinaries binaries_;
  OpenedSolvers solvers_;  ///< Before the problems, whose plans they must outlive.
  std::map<ProblemId, OpenProblem> open_;
  LeftThreads left_threads_;      ///< Finds nothing in a caller's process, which has threads of its own.
  uint32_t epoch_ = 0;            ///< Number of recycles.
  std::map<Slot, Outcome> lost_;  ///< Slots that were not restored, until a schedule names them.
  std::optional<Request> request_;
  double memory_share_ = 1;
  uint64_t memory_reserve_ = 0;
  bool is_aborted_ = false;             ///< Whether the request was aborted before take().
  bool checks_each_turn_ = false;       ///< Whether a candidate of a schedule changed operands before.
  const Candidate* running_ = nullptr;  ///< The candidate that runs or is freed; null: none.
};

}  // namespace attune
