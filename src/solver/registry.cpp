// SPDX-License-Identifier: MIT
#include "solver/registry.h"

#include <algorithm>

#include "base/error.h"
#include "base/mutex.h"

namespace attune {

namespace {

/// Solvers that wait for the first registry().
struct WaitingSolvers {
  Mutex mutex;
  std::vector<std::unique_ptr<Solver>> solvers ATTUNE_GUARDED_BY(mutex);
  bool is_over ATTUNE_GUARDED_BY(mutex) = false;
};
WaitingSolvers& waiting_solvers() {
  static WaitingSolvers& waiting = *new WaitingSolvers;
  return waiting;
}

}  // namespace

void register_solver(std::unique_ptr<Solver> solver) {
  WaitingSolvers& waiting = waiting_solvers();
  const Lock lock(waiting.mutex);
  if (waiting.is_over)
    fail(ErrorCode::invalid_input, "a solver is registered before any other is used, '{}' comes too late",
         solver->id());
  waiting.solvers.push_back(std::move(solver));
}

void Registry::add_registered() {
  WaitingSolvers& waiting = waiting_solvers();
  const Lock lock(waiting.mutex);
  waiting.is_over = true;
  for (auto& solver : waiting.solvers) add(std::move(solver));
  waiting.solvers.clear();
}

void Registry::add(std::unique_ptr<Solver> solver, OpenLibraries open_libraries) {
  const std::string id(solver->id());
  const auto same = [&](const SolverEntry& entry) { return entry.id == id; };
  const auto known = std::find_if(entries_.begin(), entries_.end(), same);
  // A module's solver has had its entry since before the module was opened.
  const bool is_expected = known != entries_.end() && known->solver == nullptr && !known->module.empty();
  if (known != entries_.end() && !is_expected)
    fail(ErrorCode::invalid_input, "a solver of this name is there already: {}", id);
  if (is_expected) {
    known->title = solver->title();
    known->solver = solver.get();
    known->open_libraries = open_libraries;
  } else if (is_opening_) {
    fail(ErrorCode::invalid_input, "the module registers a solver that the build does not name: {}", id);
  } else {
    entries_.push_back({id, std::string(solver->title()), solver.get(), "", module_, "", open_libraries});
  }
  owned_.push_back(std::move(solver));
}

void Registry::add_unavailable(std::string id, std::string title, std::string reason) {
  entries_.push_back({std::move(id), std::move(title), nullptr, std::move(reason), module_, "", nullptr});
}

std::string Registry::why_unavailable(const SolverEntry& entry) {
  if (entry.solver == nullptr || entry.open_libraries == nullptr) return entry.unavailable;
  try {
    entry.open_libraries();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

const Solver* Registry::find(std::string_view id) const noexcept {
  // A thread that opens a module blocks others that ask meanwhile. The mutex is never destroyed: the process may be
  // ending.
  static constinit Mutex opening;
  static_assert(std::is_trivially_destructible_v<Mutex>);
  const Lock lock(opening);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const SolverEntry& entry) { return entry.id == id; });
  if (found == entries_.end()) return nullptr;
  if (found->solver == nullptr && found->unavailable.empty()) {
    // A registry is logically const: which modules are open is not part of its value.
    auto& self = const_cast<Registry&>(*this);
    try {
      self.open_module(std::string(found->module));
    } catch (const std::bad_alloc&) {
      return nullptr;  // The next call tries again.
    } catch (const std::exception& error) {
      self.entries_[static_cast<size_t>(found - entries_.begin())].unavailable = error.what();
      return nullptr;
    }
  }
  return found->solver;
}

}  // namespace attune
