// SPDX-License-Identifier: MIT
#include "dispatch/plan_maker.h"

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>

#include <limits>
#include <mutex>
#include <utility>

#include "attune/error.h"
#include "base/text.h"
#include "compile/compiler.h"
#include "dispatch/library_use.h"
#include "ops/op.h"
#include "search/prune.h"

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

std::string PlanMaker::why_unusable(const Problem& problem, const Candidate& candidate) {
  const Solver* solver = solvers_.find(candidate.solver);
  if (solver == nullptr) return "no solver of that name is available here: " + candidate.solver;
  if (const Support support = solver->supports(problem, device()); !support.yes)
    return fmt::format("{} {}", candidate.solver, support.reason);
  const Opened& library = opened(*solver);
  if (!library.backend) return library.unavailable;
  const Versions versions = library.backend->versions();
  const auto own = versions.find(candidate.solver);
  const std::string version = own != versions.end() ? own->second : std::string(solver->version());
  if (version != candidate.version)
    return fmt::format("made with {} {}, here is {}", candidate.solver, candidate.version, version);
  return why_outside(library.backend->space(problem), candidate.config, problem, device()).value_or("");
}

PlanMaker::Made PlanMaker::prepare(const Problem& problem, const Solver& solver, const Config& config) {
  Made made;
  std::vector<Binary> binaries;
  for (CompileTask& task : solver.compile_tasks(problem, config, device())) {
    const std::string toolchain = toolchain_of(task);
    auto binary = cache_ ? cache_->find(task.arch, task.recipe(), toolchain) : std::optional<Binary>();
    if (!binary) {
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

PlanMaker::Made PlanMaker::make(const Problem& problem, std::string_view name) {
  Made made;
  try {
    const Candidate candidate = Candidate::parse(name);
    made.why_not = why_unusable(problem, candidate);
    if (!made.why_not.empty()) return made;
    return prepare(problem, *solvers_.find(candidate.solver), candidate.config);
  } catch (const Error& error) {
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

}  // namespace attune
