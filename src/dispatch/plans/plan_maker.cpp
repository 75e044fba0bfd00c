// SPDX-License-Identifier: MIT
#include "dispatch/plans/plan_maker.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "compile/compiler.h"
#include "core/candidate.h"
#include "device/core_binding.h"
#include "device/device_kind.h"
#include "device/devices.h"
#include "dispatch/plans/library_plan.h"
#include "dispatch/plans/stream_plan.h"
#include "dispatch/threads/fork_guard.h"
#include "dispatch/threads/forked_thread.h"
#include "dispatch/threads/library_use.h"
#include "ops/op.h"
#include "search/prune.h"
#include "search/weight_group.h"
#include "solver/contender.h"
#include "solver/one_thread_config.h"
#include "solver/parts.h"
#include "tensor/all_cores.h"

namespace attune {
namespace {

/// Number of forks of this process plus one. In a child, the thread that held a lock may be gone.
std::atomic<uint32_t> num_forks{1};
/// Registered when the library is loaded: a handler that is registered while another thread forks does not run in the
/// child.
[[maybe_unused]] const int forking = ::pthread_atfork(nullptr, nullptr, [] { ++num_forks; });

/// A lock that is open in a child of fork().
class Turn {
 public:
  void lock() noexcept {
    const uint32_t mine = num_forks.load(std::memory_order_relaxed);
    for (uint32_t holder = holder_.load(std::memory_order_relaxed);;) {
      if (holder == mine) {
        holder_.wait(holder, std::memory_order_relaxed);
        holder = holder_.load(std::memory_order_relaxed);
      } else if (holder_.compare_exchange_weak(holder, mine, std::memory_order_acquire)) {
        return;
      }
    }
  }
  void unlock() noexcept {
    holder_.store(0, std::memory_order_release);
    holder_.notify_one();
  }

 private:
  std::atomic<uint32_t> holder_{0};  ///< 0, or num_forks of the holding process.
};

/// Serialises the runs of a plan that only one thread at a time may run.
class SerialPlan final : public Plan {
 public:
  explicit SerialPlan(std::unique_ptr<Plan> plan) : plan_(std::move(plan)), traits_(plan_->traits()) {
    traits_.reentrant = true;
    if (traits_.host_bytes > 0) traits_.host_bytes += sizeof *this;
  }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    const std::lock_guard lock(turn_);
    plan_->run(launch);
  }

 private:
  std::unique_ptr<Plan> plan_;
  PlanTraits traits_;
  mutable Turn turn_;
};

}  // namespace

PlanMaker::PlanMaker(std::unique_ptr<Device> device, const Registry& solvers, std::filesystem::path cache,
                     bool asks_compilers)
    : device_(std::move(device)), solvers_(solvers), asks_compilers_(asks_compilers) {
  // Where nothing is compiled, stored kernels serve in any case.
  if (!cache.empty())
    cache_.emplace(cache_folders(std::move(cache)), std::numeric_limits<uint64_t>::max(), KernelCache::Lease::none,
                   asks_compilers ? cache_reuse() : CacheReuse::all);
}

std::unique_ptr<CaptureExemption> PlanMaker::exempt() const {
  CallerStreams* const callers = device_->caller_streams();
  return callers != nullptr ? callers->exempt() : nullptr;
}

PlanMaker::OpenBackend& PlanMaker::opened(const Solver& solver) {
  const auto [entry, fresh] = opened_.try_emplace(std::string(solver.id()));
  if (!fresh) return entry->second;
  try {
    const UnboundThread opening;
    entry->second.backend = solver.open(*device_);
    library_was_used();
  } catch (const std::exception& error) {
    entry->second.unavailable = error.what();
  }
  return entry->second;
}

void PlanMaker::limit_threads(int64_t max) { max_threads_ = std::min(max, thread_limit({})); }

SearchSpace PlanMaker::space_of(Backend& backend, const Problem& problem) {
  // A library may list its candidates on all cores (cuBLASLt does), which are the application's here.
  if (max_threads_ == 0) max_threads_ = units_are_cores(device()) ? device().num_units : thread_limit({});
  const LimitedCores limited(max_threads_);
  return backend.space(problem);
}

/// `only` (may be null): the one candidate that matters. The spaces of another version are then left out, and of a list
/// that takes long to make there is that candidate alone.
Contender PlanMaker::contender_of(const Problem& problem, const Solver& solver, const Candidate* only) {
  Contender made{.solver = std::string(solver.id()), .support = solver.supports(problem, device())};
  if (!made.support.yes) return made;
  const OpenBackend& library = opened(solver);
  if (!library.backend) fail(ErrorCode::unavailable, "{}", library.unavailable);
  made.versions = library.backend->versions();
  made.version = candidate_version(solver, made.versions);
  if (only != nullptr && only->version != made.version) return made;
  const auto is_offered = only != nullptr ? library.backend->offers(problem, only->config) : std::nullopt;
  if (!is_offered)
    made.space = space_of(*library.backend, problem);
  else if (*is_offered)
    made.space = SearchSpace::listed({only->config});
  made.invariant = library.backend->invariant_space(problem);
  made.parts = solver.parts(problem, device());
  return made;
}

Contender PlanMaker::contender(const Problem& problem, const Solver& solver) {
  return contender_of(problem, solver, nullptr);
}

/// The candidate of a name; kAnyVersion becomes the version that is here, and an empty config with it the default one.
/// Throws invalid_input, and unavailable for a solver that cannot be opened.
Candidate PlanMaker::named_candidate(const Problem& problem, std::string_view name) {
  Candidate candidate = Candidate::parse(name);
  if (!names_any_version(candidate)) return candidate;
  const Solver* solver = solvers_.find(candidate.solver);
  if (solver == nullptr || !solver->supports(problem, device()).yes)
    return candidate;  // check_usable() gives the reason.
  const OpenBackend& library = opened(*solver);
  if (!library.backend) fail(ErrorCode::unavailable, "{}", library.unavailable);
  candidate.version = candidate_version(*solver, library.backend->versions());
  if (candidate.config.values().empty()) candidate.config = library.backend->default_config(problem);
  if (const Ban* const ban = bans_->find(candidate.name(), device().key(), problem.key()); ban != nullptr)
    fail(ErrorCode::unavailable, "its kernel {} {}", candidate.name(), ban_clause(*ban));
  return candidate;
}

/// Throws if the candidate is invalid or unavailable on this machine.
void PlanMaker::check_usable(const Problem& problem, const Candidate& candidate, std::string_view layout) {
  const Solver* solver = solvers_.find(candidate.solver);
  std::optional<Contender> contender;
  if (solver != nullptr) contender = contender_of(problem, *solver, &candidate);
  const bool is_current = contender && contender->version == candidate.version;
  // A kernel must not read bytes in another order than its own; packed copies differ in size as well.
  if (const auto why = why_unreadable(candidate, layout); is_current && why) fail(ErrorCode::invalid_input, "{}", *why);
  if (const auto why = why_unusable(candidate, problem, contender ? &*contender : nullptr, device()))
    fail(is_current ? ErrorCode::invalid_input : ErrorCode::unavailable, "{}", *why);
}

std::optional<Binary> PlanMaker::cached(const CompileTask& task) const {
  auto binary = cache_ ? cache_->find(task.arch, task.recipe(), {}) : std::optional<Binary>();
  if (!binary) return binary;
  // Asking the compiler may take long, so it is done only for cached kernels.
  const std::string toolchain = asks_compilers_ ? toolchain_if_any(task.compiler) : std::string();
  if (!toolchain.empty() && binary->toolchain != toolchain) binary = cache_->find(task.arch, task.recipe(), toolchain);
  if (!binary) fail(ErrorCode::unavailable, "its kernel was just removed from the cache");
  return binary;
}

std::set<std::string> PlanMaker::missing_kernels(const Problem& problem, std::string_view candidate,
                                                 const std::set<std::string>& begun) {
  std::set<std::string> missing;
  try {
    const Candidate parsed = named_candidate(problem, candidate);
    const Solver* solver = solvers_.find(parsed.solver);
    if (!cache_ || solver == nullptr || !solver->supports(problem, device()).yes) return missing;
    for (const CompileTask& task : tasks_of(problem, *solver, parsed.config)) {
      const std::string recipe = task.recipe();
      if (begun.contains(recipe) || !cache_->find(task.arch, recipe, {})) missing.insert(recipe);
    }
    if (missing.empty()) return missing;
    // Rows of another version do not serve here.
    const OpenBackend& library = opened(*solver);
    if (!library.backend || candidate_version(*solver, library.backend->versions()) != parsed.version) missing.clear();
  } catch (const std::exception&) {
    missing.clear();  // The row does not serve, which is said when it is called.
  }
  return missing;
}

/// All tasks of a candidate. Throws like all_compile_tasks().
std::vector<CompileTask> PlanMaker::tasks_of(const Problem& problem, const Solver& solver, const Config& config) {
  Contender whole;
  whole.solver = solver.id();
  whole.parts = solver.parts(problem, device());
  if (!whole.parts.empty()) {
    const OpenBackend& library = opened(solver);
    if (!library.backend) fail(ErrorCode::unavailable, "{}", library.unavailable);
    whole.space = space_of(*library.backend, problem);
  }
  return all_compile_tasks(solvers_, whole, problem, config, device());
}

/// Why a kernel is not to be compiled; nothing if it is.
std::optional<std::string> PlanMaker::why_failed(const std::string& recipe) const {
  // What failed here alone is not yet a failure of all: its row keeps its stand-in until they agree on that.
  if (agreed_ != nullptr)
    return agreed_->has_failed(recipe) ? std::optional("a process that serves alike cannot compile it") : std::nullopt;
  const auto failure = failures_.find(recipe);
  return failure == failures_.end() ? std::nullopt : std::optional(failure->second);
}

PlanMaker::PlanResult PlanMaker::prepare(const Problem& problem, const Solver& solver, const Config& config) {
  PlanResult made;
  std::vector<Binary> binaries;
  for (CompileTask& task : tasks_of(problem, solver, config)) {
    auto binary = cached(task);
    if (!binary || !may_serve(std::array{CommonKernel{binary->recipe, binary->toolchain}})) {
      if (const auto failure = why_failed(task.recipe())) {
        made.missing.clear();
        made.kernel_failed = true;
        made.why_not = "its kernel cannot be compiled: " + *failure;
        return made;
      }
      made.missing.push_back(std::move(task));
      continue;
    }
    const std::string toolchain = asks_compilers_ ? toolchain_if_any(task.compiler) : std::string();
    made.drifted = made.drifted || (!toolchain.empty() && binary->toolchain != toolchain);
    made.kernels.push_back({binary->recipe, binary->toolchain});
    binaries.push_back(std::move(*binary));
  }
  if (!made.missing.empty()) {
    made.why_not = "its kernel is not compiled yet";
    return made;
  }
  OpenBackend& library = opened(solver);
  const bool has_pool = !solver.thread_pool().empty();
  const UnboundThread loading;
  const bool has_parts = !solver.parts(problem, device()).empty();
  const auto own = !has_parts ? binaries : own_binaries(solver, problem, config, device(), binaries);
  const auto prepare_part = [this](const Problem& part, const Candidate& candidate) {
    PlanResult of_part = make(part, candidate.name());
    if (!of_part.plan) fail(of_part.code, "{}: {}", candidate.name(), of_part.why_not);
    return std::move(of_part.plan);
  };
  run_with_pools([&] { made.plan = library.backend->prepare(problem, config, {own, prepare_part}); });
  if (!std::exchange(library.used, true)) library_was_used();
  // Kernels on cores run on the calling thread, which has a workspace for all plans.
  if (!units_are_cores(device())) made.plan = stream_plan(std::move(made.plan), *device_, graph_holds_, workspaces_);
  if (has_pool) made.plan = library_plan(std::move(made.plan));
  if (!made.plan->traits().reentrant) made.plan = std::make_unique<SerialPlan>(std::move(made.plan));
  return made;
}

PlanMaker::PlanResult PlanMaker::make(const Problem& problem, std::string_view name, std::string_view layout,
                                      Requirement required) {
  PlanResult made;
  try {
    const Candidate candidate = named_candidate(problem, name);
    check_usable(problem, candidate, layout);
    made = prepare(problem, *solvers_.find(candidate.solver), candidate.config);
    if (made.plan && !meets(made.plan->traits().states, required)) {
      made.plan.reset();
      made.why_not = fmt::format("it does not state that it is {}", text(required));
    }
  } catch (const Error& error) {
    made.code = error.code();
    made.why_not = error.what();
  } catch (const std::exception& error) {
    made.why_not = fmt::format("its solver failed: {}", error.what());
  }
  return made;
}

/// Visits the available solvers that support the problem, baselines first, until `visit` returns true. Libraries are
/// opened on the way.
void PlanMaker::visit_solvers(const Problem& problem, const std::function<bool(const Solver&)>& visit) {
  std::vector<std::string_view> ids;
  for (const SolverEntry& entry : solvers_.entries()) ids.push_back(entry.id);
  const FamilySpec& family = op_of(problem).family();
  std::sort(ids.begin(), ids.end(), [&](auto one, auto other) { return comes_before(family, one, other); });
  for (const auto id : ids) {
    const Solver* solver = solvers_.find(id);
    if (solver != nullptr && solver->supports(problem, device()).yes && opened(*solver).backend && visit(*solver))
      return;
  }
}

/// Like prepare(), and names the candidate.
PlanMaker::PlanResult PlanMaker::prepare_default(const Problem& problem, const Solver& solver, const Config& config) {
  const std::string version = candidate_version(solver, opened(solver).backend->versions());
  const std::string name = Candidate{std::string(solver.id()), version, config}.name();
  const Ban* const ban = bans_->find(name, device().key(), problem.key());
  PlanResult made;
  if (ban == nullptr)
    made = prepare(problem, solver, config);
  else
    made.why_not = fmt::format("{} {}", name, ban_clause(*ban));
  made.default_config = name;
  return made;
}

/// Makes the default plan of a small problem on one thread. No plan: the problem is not small, or the solver cannot.
PlanMaker::PlanResult PlanMaker::make_small(const Problem& problem, const Solver& solver,
                                            const Config& default_config) {
  try {
    if (const auto config = one_thread_config(solver, problem, default_config))
      return prepare_default(problem, solver, *config);
  } catch (const std::exception&) {
    // The library has no such config for the problem.
  }
  return {};
}

/// Takes a default plan, or why there is none, over into `last` unless that is more useful; returns whether no further
/// solver is needed.
bool PlanMaker::is_last_choice(PlanResult made, Requirement required, PlanResult& last) const {
  if (made.plan && !meets(made.plan->traits().states, required)) {
    if (last.missing.empty())
      last.why_not = fmt::format("no solver on this machine states that its default kernel is {}", text(required));
    return false;
  }
  const bool waits = required != Requirement::none && !made.missing.empty() && compiles();
  if (made.plan || last.missing.empty()) last = std::move(made);
  return last.plan != nullptr || waits;
}

/// Returns the config with a layout of the weights with which a solver starts every M of them: the default one of a
/// single row if it is batch-invariant, else the first that is. Throws what the backend throws.
std::optional<Config> PlanMaker::invariant_in(const Problem& single_row, const Solver& solver,
                                              const std::string& layout) {
  Backend& backend = *opened(solver).backend;
  const SearchSpace space = backend.invariant_space(single_row);
  if (space.size() == 0) return std::nullopt;
  // The start of a single row may be on one thread, which other M of the weights would share.
  Config default_config = with_threads(backend.default_config(single_row), device().num_units);
  if (layout_of(default_config) == layout && !why_outside(space, default_config, single_row, device()))
    return default_config;
  for (const uint64_t index : prune(space, single_row, device(), 0).allowed) {
    Config config = space.at(index);
    if (layout_of(config) == layout) return config;
  }
  return std::nullopt;
}

/// The solver and its config are chosen for a single row, so that every M of the weights has the same.
PlanMaker::PlanResult PlanMaker::make_invariant(const Problem& problem, std::span<const std::string> layouts) {
  PlanResult last;
  last.why_not = "no solver on this machine states a batch-invariant kernel for these weights";
  const FamilySpec* family = find_family(problem.op());
  const Problem single_row = family->rows.empty() ? problem : problem.with(family->rows, "1");
  visit_solvers(single_row, [&](const Solver& solver) {
    for (size_t i = 0; i < layouts.size(); ++i) {
      try {
        const auto config = invariant_in(single_row, solver, layouts[i]);
        if (!config) continue;
        if (const Support support = solver.supports(problem, device()); !support.yes)
          fail(ErrorCode::unavailable, "{} {}", solver.id(), support.reason);
        PlanResult made = prepare_default(problem, solver, *config);
        made.layout = static_cast<uint8_t>(i);
        if (is_last_choice(std::move(made), Requirement::batch_invariant, last)) return true;
      } catch (const std::exception& error) {
        // Another solver would sum in another order than this one does for other M.
        last.why_not = error.what();
        return true;
      }
    }
    return false;
  });
  return last;
}

PlanMaker::PlanResult PlanMaker::make_default(const Problem& problem, Requirement required) {
  if (required == Requirement::batch_invariant) return make_invariant(problem, std::vector<std::string>{kPlainLayout});
  PlanResult last;
  last.why_not = "no solver on this machine supports the problem";
  visit_solvers(problem, [&](const Solver& solver) {
    try {
      const Config default_config = opened(solver).backend->default_config(problem);
      PlanResult made;
      if (required == Requirement::none) made = make_small(problem, solver, default_config);
      if (!made.plan) made = prepare_default(problem, solver, default_config);
      return is_last_choice(std::move(made), required, last);
    } catch (const std::exception& error) {
      if (last.missing.empty()) last.why_not = error.what();
    }
    return false;
  });
  return last;
}

/// Returns the config with this layout that is nearest to the default one. Throws what the backend throws.
std::optional<Config> PlanMaker::default_in(const Problem& problem, const Solver& solver, const std::string& layout) {
  Backend& backend = *opened(solver).backend;
  Config default_config = backend.default_config(problem);
  if (layout_of(default_config) == layout) return default_config;
  const SearchSpace space = space_of(backend, problem);
  auto values = default_config.values();
  std::erase_if(values, [](const auto& value) { return value.first == kLayoutParameter; });
  values.emplace_back(kLayoutParameter, layout);
  if (Config changed(std::move(values)); !why_outside(space, changed, problem, device())) return changed;
  // Other parameters, such as the engine or the kernel, must change with the layout.
  constexpr uint64_t kMaxTried = 4096;
  std::optional<Config> nearest;
  size_t max_equal = 0;
  for (const uint64_t index : prune(space, problem, device(), 0, kMaxTried).allowed) {
    Config config = space.at(index);
    if (layout_of(config) != layout) continue;
    size_t num_equal = 0;
    for (const auto& [name, value] : config.values())
      num_equal += default_config.has(name) && default_config.at(name) == value ? 1 : 0;
    if (nearest && num_equal <= max_equal) continue;
    max_equal = num_equal;
    nearest = std::move(config);
  }
  return nearest;
}

PlanMaker::PlanResult PlanMaker::make_default(const Problem& problem, std::span<const std::string> layouts,
                                              Requirement required) {
  if (required == Requirement::batch_invariant) return make_invariant(problem, layouts);
  PlanResult last;
  last.why_not = "no solver on this machine reads weights in this layout: " + layouts.front();
  visit_solvers(problem, [&](const Solver& solver) {
    try {
      std::vector<size_t> order;
      const std::string own = layout_of(opened(solver).backend->default_config(problem));
      for (size_t i = 0; i < layouts.size(); ++i) order.insert(layouts[i] == own ? order.begin() : order.end(), i);
      for (const size_t i : order) {
        const auto config = default_in(problem, solver, layouts[i]);
        if (!config) continue;
        PlanResult made = prepare_default(problem, solver, *config);
        made.layout = static_cast<uint8_t>(i);
        if (is_last_choice(std::move(made), required, last)) return true;
      }
    } catch (const std::exception& error) {
      if (last.missing.empty()) last.why_not = error.what();
    }
    return false;
  });
  return last;
}

std::optional<std::string> PlanMaker::who_serves(const Problem& problem, std::string_view candidate,
                                                 std::string_view layout) {
  try {
    const Candidate parsed = named_candidate(problem, candidate);
    check_usable(problem, parsed, layout);
    return parsed.solver;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::vector<std::pair<std::string, std::string>> PlanMaker::default_layouts(const Problem& problem) {
  std::vector<std::pair<std::string, std::string>> all, plain;
  visit_solvers(problem, [&](const Solver& solver) {
    try {
      all.emplace_back(solver.id(), layout_of(opened(solver).backend->default_config(problem)));
      if (default_in(problem, solver, kPlainLayout)) plain.emplace_back(solver.id(), kPlainLayout);
    } catch (const std::exception&) {
      // This solver has no config for the problem.
    }
    return false;
  });
  all.insert(all.end(), plain.begin(), plain.end());
  return all;
}

bool PlanMaker::reads(const Problem& problem, const std::string& layout) {
  bool is_read = false;
  visit_solvers(problem, [&](const Solver& solver) {
    try {
      is_read = default_in(problem, solver, layout).has_value();
    } catch (const std::exception&) {
      // This solver has no config for the problem.
    }
    return is_read;
  });
  return is_read;
}

WeightPacking PlanMaker::packing(const Problem& problem, const std::string& layout, std::string_view solver) {
  const Solver* found = solvers_.find(solver);
  ATTUNE_CHECK(found != nullptr && opened(*found).backend, "solver {}", solver);
  WeightPacking packing = packing_of({layout}, problem, *opened(*found).backend, *device_);
  packing.pack = [pack = std::move(packing.pack)](PlainOperands plain, Buffer packed) {
    run_with_pools([&] { pack(plain, packed); });
  };
  return packing;
}

}  // namespace attune
