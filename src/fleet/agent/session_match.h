// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "store/fleet/fleet_store.h"

namespace attune {

/// Each difference between the environment that a session pins and the one here, a clause each:
/// `onednn.conv is 1+3.1 in the session and 1+2.6.3 here`. Empty: an agent may work on the session.
std::vector<std::string> differences(const FleetEnvironment& session, const FleetEnvironment& here);

/// The same about the solvers that a session pins. Solvers that only this program has take no part and are no
/// difference.
std::vector<std::string> solver_differences(const std::vector<FleetSolver>& session,
                                            const std::vector<FleetSolver>& here);

}  // namespace attune
