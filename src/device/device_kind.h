// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace attune {

/// A kind of device. Each folder `device/<kind>/` registers one in `void
/// register_<kind>_devices(std::vector<DeviceKind>&)`.
struct DeviceKind {
  std::string_view name;
  std::vector<DeviceInfo> (*list)() = nullptr;  ///< Cheap; empty without devices of this kind.
  /// Opens an id that list() returned. `max_units`: see open_device().
  std::unique_ptr<Device> (*open)(std::string_view id, int64_t max_units) = nullptr;
};

/// Kinds of this build, from the generated list of folders; called once.
std::vector<DeviceKind> device_kinds();

}  // namespace attune
