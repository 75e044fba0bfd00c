// SPDX-License-Identifier: MIT
#include "solver/registry.h"

#include <algorithm>

#include "base/error.h"

namespace attune {

void Registry::add(std::unique_ptr<Solver> solver) {
  const std::string id(solver->id());
  ATTUNE_CHECK(std::none_of(entries_.begin(), entries_.end(), [&](const SolverEntry& entry) { return entry.id == id; }),
               "two solvers named {}", id);
  entries_.push_back({id, std::string(solver->title()), solver.get(), "", module_});
  owned_.push_back(std::move(solver));
}

void Registry::add_unavailable(std::string id, std::string title, std::string reason) {
  entries_.push_back({std::move(id), std::move(title), nullptr, std::move(reason), module_});
}

const Solver* Registry::find(std::string_view id) const noexcept {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const SolverEntry& entry) { return entry.id == id; });
  return found == entries_.end() ? nullptr : found->solver;
}

}  // namespace attune
