// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "campaign/devices/open_devices.h"
#include "store/fleet/fleet_store.h"

namespace attune {

/// What a session that is begun in this environment pins, and an agent compares. `variables`: library_variables(), read
/// before the registry. Opens every solver for a small convolution; throws like contenders().
FleetEnvironment fleet_environment(const Environment& environment, const std::vector<std::string>& variables);

}  // namespace attune
