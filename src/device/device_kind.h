// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace attune {

/// What a folder `device/<kind>/` registers by `void register_<kind>_devices(std::vector<DeviceKind>&)`.
struct DeviceKind {
  std::string_view name;
  std::vector<DeviceInfo> (*list)() = nullptr;                     ///< Cheap; empty when there is none.
  std::unique_ptr<Device> (*open)(std::string_view id) = nullptr;  ///< For an id that list() names.
};

/// Called once by the generated list of this build's folders.
std::vector<DeviceKind> device_kinds();

}  // namespace attune
