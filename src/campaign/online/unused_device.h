// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "core/device_info.h"
#include "device/device_kind.h"

namespace attune {

/// A device to tune on while an application uses another one.
struct UnusedDevice {
  DeviceInfo info;
  /// Its turn (OnlineQueue::turn()): no other program tunes on it online. Null: usage of this kind of device is
  /// unknown, so programs share it.
  std::unique_ptr<FileLock> turn;
};

/// The devices of a machine and their use.
struct DevicesHere {
  std::span<const DeviceInfo> listed;                        ///< Devices of one kind.
  std::function<std::string(std::string_view id)> use_of{};  ///< As DeviceKind::use_of; empty if that is null.
};

/// Returns the first idle device with the same fingerprint as `device`, other than `device` itself, on which no other
/// program tunes online with this state folder. If usage of this kind is unknown, returns `device` itself. Other
/// programs may start to use it afterwards. Throws io, and unavailable with the reason for each device if all are
/// refused.
UnusedDevice find_unused(const DeviceInfo& device, const DevicesHere& here, const std::filesystem::path& state);
/// Looks at the devices of this machine: asks the driver of the device's kind. Throws like the other one.
UnusedDevice find_unused(const DeviceInfo& device, const std::filesystem::path& state);

}  // namespace attune
