// SPDX-License-Identifier: MIT
#include "fleet/setup/list_solvers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "measure/contenders.h"
#include "ops/op.h"
#include "solver/contender.h"
#include "solver/registry.h"

namespace attune {
namespace {

/// The first small problem of an op that a solver supports.
std::optional<Problem> sample_for(const Solver& solver, const Op& op, const DeviceInfo& device) {
  for (const std::string_view attributes : op.family().samples) {
    const Problem sample = op.normalise(Problem::parse(fmt::format("{} {}", op.family().op, attributes)), device);
    if (solver.supports(sample, device).yes) return sample;
  }
  return std::nullopt;
}

}  // namespace

std::vector<ListedSolver> list_solvers(Executor& executor, const Registry& solvers) {
  const DeviceInfo& device = executor.device();
  std::vector<ListedSolver> found;
  for (const FamilySpec& family : families()) {
    const Op* const op = find_op(family.op);
    if (op == nullptr) continue;
    std::map<Problem, std::vector<const SolverEntry*>> by_sample;  // Solvers share the samples that they support.
    for (const SolverEntry& entry : solvers.entries()) {
      if (entry.solver == nullptr) continue;
      if (const auto sample = sample_for(*entry.solver, *op, device)) by_sample[*sample].push_back(&entry);
    }
    for (const auto& [sample, entries] : by_sample) {
      const std::vector<Contender> all = contenders(executor, sample, Protocol());
      for (const SolverEntry* const entry : entries) {
        const Contender* const one = find_contender(all, entry->id);
        if (one == nullptr || !one->support.yes) continue;
        found.push_back({{.id = entry->id,
                          .version = one->version,
                          .op = std::string(family.op),
                          .is_tunable = one->space.size() > 1 || !one->parts.empty(),
                          .title = entry->title},
                         one->versions});
      }
    }
  }
  return found;
}

std::vector<FleetSolver> solvers_of(const std::vector<ListedSolver>& listed) {
  std::vector<FleetSolver> all;
  for (const ListedSolver& one : listed) all.push_back(one.solver);
  return all;
}

Versions versions_of(const std::vector<ListedSolver>& listed, const std::vector<FleetSolver>& chosen) {
  Versions versions;
  for (const ListedSolver& one : listed) {
    const auto is_it = [&](const FleetSolver& other) { return other.id == one.solver.id && other.op == one.solver.op; };
    if (std::ranges::any_of(chosen, is_it)) versions.insert(one.versions.begin(), one.versions.end());
  }
  return versions;
}

}  // namespace attune
