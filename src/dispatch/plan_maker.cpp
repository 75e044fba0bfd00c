// SPDX-License-Identifier: MIT
#include "dispatch/plan_maker.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "compile/compiler.h"
#include "dispatch/library_use.h"
#include "ops/op.h"
#include "search/prune.h"
#include "search/weight_group.h"

namespace attune {
namespace {

/// Of the compiler of a task here; empty: it is not here, and any toolchain's binary is as good as another's.
std::string toolchain_of(const CompileTask& task) {
  const Compiler* compiler = find_compiler(task.compiler);
  try {
    return compiler == nullptr ? std::string() : compiler->toolchain();
  } catch (const Error&) {
    return {};
  }
}

/// How often this process was forked, from 1. In a child the thread that held a lock may be gone.
std::atomic<uint32_t> num_forks{1};

/// A lock that a child of fork() finds open.
class Turn {
 public:
  void lock() noexcept {
    static const int forking = ::pthread_atfork(nullptr, nullptr, [] { ++num_forks; });
    static_cast<void>(forking);
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
  std::atomic<uint32_t> holder_{0};  ///< 0, or num_forks of the process that holds it.
};

/// A plan that one thread at a time may run.
class TakingTurns final : public Plan {
 public:
  explicit TakingTurns(std::unique_ptr<Plan> plan) : plan_(std::move(plan)), traits_(plan_->traits()) {
    traits_.reentrant = true;
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

PlanMaker::PlanMaker(std::string_view device, const Registry& solvers, std::filesystem::path cache)
    : device_(open_device(device)), solvers_(solvers) {
  if (!cache.empty()) cache_.emplace(std::vector{std::move(cache)}, std::numeric_limits<uint64_t>::max());
}

PlanMaker::Opened& PlanMaker::opened(const Solver& solver) {
  const auto [entry, fresh] = opened_.try_emplace(std::string(solver.id()));
  if (!fresh) return entry->second;
  try {
    entry->second.backend = solver.open(*device_);
  } catch (const std::exception& error) {
    entry->second.unavailable = error.what();
  }
  return entry->second;
}

/// Throws for what the candidate is not, or not here.
void PlanMaker::check_usable(const Problem& problem, const Candidate& candidate, std::string_view layout) {
  const Solver* solver = solvers_.find(candidate.solver);
  if (solver == nullptr) fail(ErrorCode::unavailable, "no solver of that name is available here: {}", candidate.solver);
  if (const Support support = solver->supports(problem, device()); !support.yes)
    fail(ErrorCode::unavailable, "{} {}", candidate.solver, support.reason);
  const Opened& library = opened(*solver);
  if (!library.backend) fail(ErrorCode::unavailable, "{}", library.unavailable);
  const Versions versions = library.backend->versions();
  const auto own = versions.find(candidate.solver);
  const std::string version = own != versions.end() ? own->second : std::string(solver->version());
  if (version != candidate.version) {
    fail(ErrorCode::unavailable, "made with {} {}, here is {}", candidate.solver, candidate.version, version);
  }
  // Bytes in another order than a kernel reads are wrong at best: a packed copy is of another size.
  if (const std::string read = layout_of(candidate); read != layout)
    fail(ErrorCode::invalid_input, "it reads weights in the layout {}, these are {}", read, layout);
  if (const auto why = why_outside(library.backend->space(problem), candidate.config, problem, device()))
    fail(ErrorCode::invalid_input, "{}", *why);
}

PlanMaker::Made PlanMaker::prepare(const Problem& problem, const Solver& solver, const Config& config) {
  Made made;
  std::vector<Binary> binaries;
  for (CompileTask& task : solver.compile_tasks(problem, config, device())) {
    const std::string toolchain = toolchain_of(task);
    auto binary = cache_ ? cache_->find(task.arch, task.recipe(), toolchain) : std::optional<Binary>();
    if (!binary) {
      if (const auto failure = failures_.find(task.recipe()); failure != failures_.end()) {
        made.missing.clear();
        made.why_not = "its kernel cannot be compiled: " + failure->second;
        return made;
      }
      made.missing.push_back(std::move(task));
      continue;
    }
    made.drifted = made.drifted || (!toolchain.empty() && binary->toolchain != toolchain);
    binaries.push_back(std::move(*binary));
  }
  if (!made.missing.empty()) {
    made.why_not = "its kernel is not compiled yet";
    return made;
  }
  Opened& library = opened(solver);
  made.plan = library.backend->prepare(problem, config, {binaries});
  if (!std::exchange(library.used, true)) {
    if (auto* const hook = after_first_use.load()) hook();
  }
  if (!made.plan->traits().reentrant) made.plan = std::make_unique<TakingTurns>(std::move(made.plan));
  return made;
}

PlanMaker::Made PlanMaker::make(const Problem& problem, std::string_view name, std::string_view layout) {
  Made made;
  try {
    const Candidate candidate = Candidate::parse(name);
    check_usable(problem, candidate, layout);
    return prepare(problem, *solvers_.find(candidate.solver), candidate.config);
  } catch (const Error& error) {
    made.code = error.code();
    made.why_not = error.what();
  } catch (const std::exception& error) {
    made.why_not = fmt::format("its solver failed: {}", error.what());
  }
  return made;
}

PlanMaker::Made PlanMaker::make_untuned(const Problem& problem) {
  Made last;
  last.why_not = "no solver here takes the problem";
  for (const auto id : op_of(problem).family().baselines) {
    const Solver* solver = solvers_.find(id);
    if (solver == nullptr || !solver->supports(problem, device()).yes) continue;
    Opened& library = opened(*solver);
    if (!library.backend) continue;
    try {
      Made made = prepare(problem, *solver, library.backend->untuned(problem));
      if (made.plan) return made;
      last.why_not = std::move(made.why_not);
    } catch (const std::exception& error) {
      last.why_not = error.what();
    }
  }
  return last;
}

/// That take the problem and are here, baselines first.
std::vector<const Solver*> PlanMaker::solvers_of(const Problem& problem) {
  std::vector<const Solver*> found;
  const auto add = [&](const Solver* solver) {
    if (solver == nullptr || std::find(found.begin(), found.end(), solver) != found.end()) return;
    if (solver->supports(problem, device()).yes && opened(*solver).backend) found.push_back(solver);
  };
  for (const auto id : op_of(problem).family().baselines) add(solvers_.find(id));
  for (const SolverEntry& entry : solvers_.entries()) add(entry.solver);
  return found;
}

/// The config of a layout that is nearest to the untuned one. Throws what the backend throws.
std::optional<Config> PlanMaker::untuned_in(const Problem& problem, const Solver& solver, const std::string& layout) {
  Backend& backend = *opened(solver).backend;
  const Config untuned = backend.untuned(problem);
  if (layout_of(untuned) == layout) return untuned;
  const SearchSpace space = backend.space(problem);
  auto values = untuned.values();
  std::erase_if(values, [](const auto& value) { return value.first == "b_layout"; });
  values.emplace_back("b_layout", layout);
  if (Config changed(std::move(values)); !why_outside(space, changed, problem, device())) return changed;
  // Others must change with it: the engine, the kernel.
  constexpr uint64_t kMostTried = 4096;
  std::optional<Config> nearest;
  size_t most_equal = 0;
  for (const uint64_t index : prune(space, problem, device(), 0, kMostTried).allowed) {
    Config config = space.at(index);
    if (layout_of(config) != layout) continue;
    size_t num_equal = 0;
    for (const auto& [name, value] : config.values())
      num_equal += untuned.has(name) && untuned.at(name) == value ? 1 : 0;
    if (nearest && num_equal <= most_equal) continue;
    most_equal = num_equal;
    nearest = std::move(config);
  }
  return nearest;
}

PlanMaker::Made PlanMaker::make_untuned(const Problem& problem, std::span<const std::string> layouts) {
  Made last;
  last.why_not = "no solver here reads weights in this layout: " + layouts.front();
  for (const Solver* solver : solvers_of(problem)) {
    try {
      std::vector<size_t> order;
      const std::string own = layout_of(opened(*solver).backend->untuned(problem));
      for (size_t i = 0; i < layouts.size(); ++i) order.insert(layouts[i] == own ? order.begin() : order.end(), i);
      for (const size_t i : order) {
        const auto config = untuned_in(problem, *solver, layouts[i]);
        if (!config) continue;
        Made made = prepare(problem, *solver, *config);
        made.layout = static_cast<uint8_t>(i);
        if (made.plan) return made;
        if (last.missing.empty()) last = std::move(made);
      }
    } catch (const std::exception& error) {
      if (last.missing.empty()) last.why_not = error.what();
    }
  }
  return last;
}

std::optional<std::string> PlanMaker::who_serves(const Problem& problem, std::string_view candidate,
                                                 std::string_view layout) {
  try {
    const Candidate parsed = Candidate::parse(candidate);
    check_usable(problem, parsed, layout);
    return parsed.solver;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::vector<std::pair<std::string, std::string>> PlanMaker::untuned_layouts(const Problem& problem) {
  std::vector<std::pair<std::string, std::string>> all, plain;
  for (const Solver* solver : solvers_of(problem)) {
    try {
      all.emplace_back(solver->id(), layout_of(opened(*solver).backend->untuned(problem)));
      if (untuned_in(problem, *solver, "plain")) plain.emplace_back(solver->id(), "plain");
    } catch (const std::exception&) {
      continue;  // It has no config for this problem.
    }
  }
  all.insert(all.end(), plain.begin(), plain.end());
  return all;
}

bool PlanMaker::reads(const Problem& problem, const std::string& layout) {
  const auto all = solvers_of(problem);
  return std::any_of(all.begin(), all.end(), [&](const Solver* solver) {
    try {
      return untuned_in(problem, *solver, layout).has_value();
    } catch (const std::exception&) {
      return false;
    }
  });
}

WeightPacking PlanMaker::packing(const Problem& problem, const std::string& layout, std::string_view solver) {
  const Solver* found = solvers_.find(solver);
  ATTUNE_CHECK(found != nullptr && opened(*found).backend, "solver {}", solver);
  return packing_of({layout}, problem, *opened(*found).backend);
}

}  // namespace attune
