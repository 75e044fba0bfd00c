// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/error.h"
#include "attune/plan.h"
#include "attune/problem.h"
#include "compile/kernel_cache.h"
#include "core/binary.h"
#include "core/candidate.h"
#include "device/devices.h"
#include "solver/registry.h"
#include "solver/weight_packing.h"

namespace attune {

/// Makes plans of candidates on one device. Solvers are opened when first needed and stay open. One thread at a time.
class PlanMaker {
 public:
  /// Opens the device. `cache`: the folder of compiled kernels; empty: there is none. `asks_compilers`: for their
  /// version, by running them once; without it no plan is known to have drifted. Throws as open_device().
  PlanMaker(std::string_view device, const Registry& solvers, std::filesystem::path cache, bool asks_compilers);

  const DeviceInfo& device() const noexcept { return device_->info(); }

  struct PlanResult {
    std::unique_ptr<Plan> plan;               ///< Any thread may run it.
    std::string why_not;                      ///< No plan: one sentence's end, as in `its kernel …`.
    ErrorCode code = ErrorCode::unavailable;  ///< No plan: invalid_input when it is the candidate's text that is wrong.
    std::vector<CompileTask> missing;         ///< No plan, but these would do: kernels that the cache does not have.
    bool drifted = false;                     ///< A kernel is of another compiler than the one here.
    uint8_t layout = 0;                       ///< Of make_untuned() with layouts: which of them the plan reads.
  };
  /// Of a candidate by its name, for weights in a layout: one of another is refused. The problem is normalised. Does
  /// not throw for what is the candidate's fault.
  PlanResult make(const Problem& problem, std::string_view candidate, std::string_view layout = "plain");
  /// Of the first solver that takes the problem, baselines first, untuned. No plan: none does.
  PlanResult make_untuned(const Problem& problem);
  /// The same for weights packed ahead, of the first solver (baselines first) that reads one of the layouts: its
  /// untuned config, with as few parameters changed as the layout wants.
  PlanResult make_untuned(const Problem& problem, std::span<const std::string> layouts);

  /// The solver of a candidate that make() would take; nothing for one that it would refuse.
  std::optional<std::string> who_serves(const Problem& problem, std::string_view candidate, std::string_view layout);
  /// Of packed weights: solver and layout of the untuned configs, baselines first; then plain by who reads that.
  std::vector<std::pair<std::string, std::string>> untuned_layouts(const Problem& problem);
  /// Whether some solver reads weights of this layout.
  bool reads(const Problem& problem, const std::string& layout);
  /// As packing_of(), by an opened solver; used before the next call of anything here.
  WeightPacking packing(const Problem& problem, const std::string& layout, std::string_view solver);
  /// Kernels that could not be compiled, by recipe, with the reason: they are not in PlanResult::missing any more.
  void note_failures(std::map<std::string, std::string> failures) { failures_.merge(failures); }
  void forget_failures() { failures_.clear(); }
  /// The device that plans run on.
  Device& owner() const noexcept { return *device_; }

 private:
  struct OpenBackend {
    std::unique_ptr<Backend> backend;
    std::string unavailable;
    bool used = false;  ///< Has made a plan.
  };
  OpenBackend& opened(const Solver& solver);
  void check_usable(const Problem& problem, const Candidate& candidate, std::string_view layout);
  void visit_solvers(const Problem& problem, const std::function<bool(const Solver&)>& visit);
  std::optional<Config> untuned_in(const Problem& problem, const Solver& solver, const std::string& layout);
  PlanResult prepare(const Problem& problem, const Solver& solver, const Config& config);

  std::unique_ptr<Device> device_;
  const Registry& solvers_;
  const bool asks_compilers_;
  std::optional<KernelCache> cache_;  ///< Nothing where there is no home folder.
  std::map<std::string, OpenBackend, std::less<>> opened_;
  std::map<std::string, std::string> failures_;
};

}  // namespace attune
