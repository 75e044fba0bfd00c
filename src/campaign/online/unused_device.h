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

/// A device to tune on beside an application that uses another one.
struct UnusedDevice {
  DeviceInfo info;
  /// Its turn (OnlineQueue::turn()): no other program tunes on it online. Null: its kind says nobody's use, so programs
  /// share it.
  std::unique_ptr<FileLock> turn;
};

/// What is known of the devices of a machine.
struct DevicesHere {
  std::span<const DeviceInfo> listed;                        ///< Of one kind.
  std::function<std::string(std::string_view id)> use_of{};  ///< As DeviceKind::use_of; empty: null there.
};

/// The first that is another device than `device`, has its fingerprint, is not in use, and on which no other program
/// tunes online with this state folder; the device itself where its kind does not say who uses one. Nothing keeps
/// others from using it afterwards. Throws unavailable with a sentence that names what was found where there is none,
/// and io.
UnusedDevice find_unused(const DeviceInfo& device, const DevicesHere& here, const std::filesystem::path& state);
/// Of this machine: asks the driver of the device's kind. Throws like the other one.
UnusedDevice find_unused(const DeviceInfo& device, const std::filesystem::path& state);

}  // namespace attune
