// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/device_info.h"

namespace attune {

/// A device of this machine, and whether its kind comes before the host (DeviceKind::precedes_host).
struct ListedDevice {
  DeviceInfo info;
  bool precedes_host = false;
};

/// Returns the devices of a command whose user names none, `cuda:0,cuda:1`. `architectures`: the `gfx` of the rows that
/// the command is about. Chooses the devices of these architectures; if there are none, the devices that come before
/// the host; if there are none, `cpu:0`. Devices that come before the host are preferred, then the host, then others.
/// Devices that differ from the first are excluded, because a row of one must be valid for all.
std::string default_devices(std::span<const ListedDevice> here, std::span<const std::string> architectures);

}  // namespace attune
