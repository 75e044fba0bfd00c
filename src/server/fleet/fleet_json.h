// SPDX-License-Identifier: MIT
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "server/fleet/fleet_reader.h"

namespace attune {

/// The answer of /api/v1/fleet.
nlohmann::ordered_json fleet_json(const FleetSight& sight);

}  // namespace attune
