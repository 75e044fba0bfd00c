// SPDX-License-Identifier: MIT
#pragma once
#include "core/device_info.h"
#include "store/fleet/fleet_store.h"

namespace attune {

/// The device that a session pins, which need not be here; without measured figures. Throws invalid_input for a store
/// that a later version wrote.
DeviceInfo device_of_session(const FleetSession& session);

}  // namespace attune
