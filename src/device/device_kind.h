// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace attune {

/// A kind of device. Each folder `device/<kind>/` registers one in `void
/// register_<kind>_devices(std::vector<DeviceKind>&)`.
struct DeviceKind {
  std::string_view name;
  std::vector<DeviceInfo> (*list)() = nullptr;                     ///< Cheap; empty without devices of this kind.
  std::unique_ptr<Device> (*open)(std::string_view id) = nullptr;  ///< Opens an id that list() returned.
};

/// Kinds of this build, from the generated list of folders; called once.
std::vector<DeviceKind> device_kinds();

}  // namespace attune
