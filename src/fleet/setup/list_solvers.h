// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "measure/executor.h"
#include "store/fleet/fleet_store.h"

namespace attune {

/// The solvers of this program that can compute on a device, one entry for each op that they serve. Opens each of them
/// there for a small problem of the op. Throws like contenders().
std::vector<FleetSolver> list_solvers(Executor& executor);

}  // namespace attune
