// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "core/record.h"
#include "measure/executor.h"
#include "solver/registry.h"
#include "store/fleet/fleet_store.h"

namespace attune {

/// A solver for one op, as it is on a device.
struct ListedSolver {
  FleetSolver solver;
  Versions versions;  ///< Of the solver and all that it uses.
};

/// The solvers that can compute on a device, one entry for each op that they serve. The executor opens each of them
/// there for a small problem of the op, and omits solvers whose library is missing. `solvers`: the
/// executor's. Throws like contenders().
std::vector<ListedSolver> list_solvers(Executor& executor, const Registry& solvers = registry());

std::vector<FleetSolver> solvers_of(const std::vector<ListedSolver>& listed);
/// The versions of those among `chosen`, by id and op.
Versions versions_of(const std::vector<ListedSolver>& listed, const std::vector<FleetSolver>& chosen);

}  // namespace attune
