// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "core/device_info.h"
#include "core/record.h"
#include "store/fleet/fleet_store.h"

namespace attune {

/// What a session that is begun in this environment pins, and an agent compares. `variables`: library_variables(), read
/// before the registry. `versions`: of the session's solvers and all that they use, see versions_of(); the measuring
/// protocol is added to them. `inputs`: the temperature of the operands, as parse_cache_policy() reads it.
FleetEnvironment fleet_environment(const DeviceInfo& device, const std::vector<std::string>& variables,
                                   Versions versions, const std::string& inputs = "served");

}  // namespace attune
