// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/error.h"
#include "attune/plan.h"
#include "attune/problem.h"
#include "attune/workspace_allocator.h"
#include "compile/kernel_cache.h"
#include "core/ban.h"
#include "core/binary.h"
#include "core/candidate.h"
#include "device/device.h"
#include "dispatch/agreement/agreed_kernels.h"
#include "dispatch/plans/graph_holds.h"
#include "dispatch/plans/workspace.h"
#include "solver/contender.h"
#include "solver/registry.h"
#include "solver/weight_packing.h"

namespace attune {

/// Makes plans of candidates on one device. Solvers are opened when first needed and stay open. Not thread-safe.
class PlanMaker {
 public:
  /// `cache`: folder of compiled kernels; empty: none. `asks_compilers`: whether to run each compiler once to get its
  /// version; without it no plan is known to have drifted.
  PlanMaker(std::unique_ptr<Device> device, const Registry& solvers, std::filesystem::path cache, bool asks_compilers);

  const DeviceInfo& device() const noexcept { return device_->info(); }
  /// Has the workspaces of plans on a device with streams come from an application's allocator, which outlives this.
  void set_workspaces(const WorkspaceAllocator& allocator) noexcept { workspaces_.allocator = &allocator; }
  /// Memory that the workspaces of plans and of captured graphs hold, the allocator's included; 0 on a host. Any thread
  /// may ask.
  uint64_t workspace_bytes() const noexcept { return workspace_bytes_.load(std::memory_order_relaxed); }
  /// Limits the threads on which libraries list their candidates, for a device whose units are no threads: the least of
  /// this number and the process's own limit, which holds without it.
  void limit_threads(int64_t max);

  struct PlanResult {
    std::unique_ptr<Plan> plan;               ///< Thread-safe.
    std::string why_not;                      ///< If no plan: the end of a sentence, such as `its kernel …`.
    ErrorCode code = ErrorCode::unavailable;  ///< If no plan: invalid_input when the candidate's text is wrong.
    std::vector<CompileTask> missing;   ///< If no plan: kernels to compile that the cache lacks, if those suffice.
    bool kernel_failed = false;         ///< If no plan: a kernel cannot be compiled.
    bool drifted = false;               ///< A kernel was compiled by another compiler than this machine's.
    uint8_t layout = 0;                 ///< For make_default() with layouts: index of the one that the plan reads.
    std::string default_config;         ///< For make_default(): name of the candidate.
    std::vector<CommonKernel> kernels;  ///< Those that the plan has loaded.
  };
  /// Makes the plan of a named candidate for weights in a layout; a candidate of another layout is refused, and so is a
  /// plan that does not state what is required. Requires: the problem is normalised. Errors of the candidate are
  /// returned, not thrown.
  PlanResult make(const Problem& problem, std::string_view candidate, std::string_view layout = kPlainLayout,
                  Requirement required = Requirement::none);
  /// The solver as a contender for a normalised problem, opened here if it supports it; without what plans do not need:
  /// default and recommended configs. Throws what the solver throws.
  Contender contender(const Problem& problem, const Solver& solver);
  /// Makes a default plan of the first solver that supports the problem, baselines first, and whose plan states what
  /// is required; without a requirement of a small problem on one thread (solver/one_thread_config.h). No plan: no
  /// solver does. Under a requirement no other solver stands in for one whose kernel is yet to be compiled, because the
  /// results would change with the state of the cache. Batch-invariant: solver and config are those of a single row,
  /// for every M.
  PlanResult make_default(const Problem& problem, Requirement required = Requirement::none);
  /// Like above for packed weights: uses the first solver (baselines first) that reads one of the layouts, with its
  /// default config, changed in as few parameters as the layout requires.
  PlanResult make_default(const Problem& problem, std::span<const std::string> layouts,
                          Requirement required = Requirement::none);
  /// Has make_default() pass over solvers whose default config is banned, and make() refuse a banned candidate of
  /// kAnyVersion.
  void set_bans(std::shared_ptr<const BanList> bans) noexcept { bans_ = std::move(bans); }
  /// As long as it is set, kernels serve that all agreed on, and others count as not compiled yet; null: all serve.
  void set_agreed(const AgreedKernels* agreed) noexcept { agreed_ = agreed; }
  /// Whether a plan that was made may serve now.
  bool may_serve(std::span<const CommonKernel> kernels) const { return agreed_ == nullptr || agreed_->serve(kernels); }
  /// The kernel of a task in the cache, of this machine's compiler if there is one; nothing if there is none. Throws
  /// unavailable if it is removed meanwhile.
  std::optional<Binary> cached(const CompileTask& task) const;
  /// Recipes of the kernels that a candidate of this machine's version needs and the cache lacks; those of `begun`
  /// count as lacking. None if there is no cache.
  std::set<std::string> missing_kernels(const Problem& problem, std::string_view candidate,
                                        const std::set<std::string>& begun);
  /// Whether kernels that are not in the cache will be compiled.
  bool compiles() const noexcept { return asks_compilers_; }

  /// Returns the solver of a candidate that make() would accept; nothing if it would refuse it.
  std::optional<std::string> who_serves(const Problem& problem, std::string_view candidate, std::string_view layout);
  /// Returns solver and layout of the default configs for packed weights, baselines first; then `plain` for each solver
  /// that reads it.
  std::vector<std::pair<std::string, std::string>> default_layouts(const Problem& problem);
  /// Whether some solver reads weights of this layout.
  bool reads(const Problem& problem, const std::string& layout);
  /// Like packing_of(), but by an opened solver. The result is valid until the next call of a member function.
  WeightPacking packing(const Problem& problem, const std::string& layout, std::string_view solver);
  /// Records kernels that could not be compiled, by recipe, with the reason. They no longer appear in
  /// PlanResult::missing.
  void note_failures(std::map<std::string, std::string> failures) { failures_.merge(failures); }
  void forget_failures() { failures_.clear(); }
  /// Returns the device that plans run on.
  Device& owner() const noexcept { return *device_; }
  /// Held while plans are made or freed on a thread that may be capturing a stream; null: the device needs none.
  std::unique_ptr<CaptureExemption> exempt() const;
  /// What captured graphs of callers hold.
  GraphHolds& graph_holds() noexcept { return graph_holds_; }
  const GraphHolds& graph_holds() const noexcept { return graph_holds_; }

 private:
  struct OpenBackend {
    std::unique_ptr<Backend> backend;
    std::string unavailable;
    bool used = false;  ///< A plan was made.
  };
  OpenBackend& opened(const Solver& solver);
  Contender contender_of(const Problem& problem, const Solver& solver, const Candidate* only);
  Candidate named_candidate(const Problem& problem, std::string_view name);
  void check_usable(const Problem& problem, const Candidate& candidate, std::string_view layout);
  void visit_solvers(const Problem& problem, const std::function<bool(const Solver&)>& visit);
  std::optional<Config> default_in(const Problem& problem, const Solver& solver, const std::string& layout);
  std::vector<CompileTask> tasks_of(const Problem& problem, const Solver& solver, const Config& config);
  PlanResult prepare(const Problem& problem, const Solver& solver, const Config& config);
  std::optional<std::string> why_failed(const std::string& recipe) const;
  std::optional<Config> invariant_in(const Problem& single_row, const Solver& solver, const std::string& layout);
  PlanResult make_invariant(const Problem& problem, std::span<const std::string> layouts);
  bool is_last_choice(PlanResult made, Requirement required, PlanResult& last) const;
  /// Backend::space(), listed on no more threads than the application allows.
  SearchSpace space_of(Backend& backend, const Problem& problem);
  PlanResult prepare_default(const Problem& problem, const Solver& solver, const Config& config);
  PlanResult make_small(const Problem& problem, const Solver& solver, const Config& default_config);

  std::unique_ptr<Device> device_;
  const Registry& solvers_;
  const bool asks_compilers_;
  std::shared_ptr<const BanList> bans_ = std::make_shared<const BanList>();
  const AgreedKernels* agreed_ = nullptr;
  std::atomic<uint64_t> workspace_bytes_{0};
  WorkspaceSource workspaces_{.allocator = nullptr, .held_bytes = &workspace_bytes_};
  std::optional<KernelCache> cache_;  ///< Empty if there is no cache folder.
  std::map<std::string, OpenBackend, std::less<>> opened_;
  std::map<std::string, std::string> failures_;
  int64_t max_threads_ = 0;  ///< Of the process; 0: not asked yet.
  GraphHolds graph_holds_;   ///< Last: plans that it frees need the rest.
};

}  // namespace attune
