// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace attune {

/// Devices of this machine, by id. Does not keep them open.
std::vector<DeviceInfo> list_devices();
/// Opens `cpu:0`, `fake:0`. Throws invalid_input with the list for an unknown id; unavailable when it cannot be opened.
std::unique_ptr<Device> open_device(std::string_view id);
/// The description of a device by its id, `cpu:0` for an empty one; opens nothing. Throws invalid_input with the list.
DeviceInfo find_device(std::string_view id);

}  // namespace attune
