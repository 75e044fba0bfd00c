// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "core/record.h"
#include "measure/executor.h"
#include "store/fleet/fleet_store.h"

namespace attune {

/// A solver for one op, as it is on a device.
struct ListedSolver {
  FleetSolver solver;
  Versions versions;  ///< Of the solver and all that it uses.
};

/// The solvers of this program that can compute on a device, one entry for each op that they serve. Opens each of them
/// there for a small problem of the op. Throws like contenders().
std::vector<ListedSolver> list_solvers(Executor& executor);

std::vector<FleetSolver> solvers_of(const std::vector<ListedSolver>& listed);
/// The versions of those among `chosen`, by id and op.
Versions versions_of(const std::vector<ListedSolver>& listed, const std::vector<FleetSolver>& chosen);

}  // namespace attune
