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

/// Returns the devices of a command whose user names none, `cuda:0,cuda:1`. Of `here` those count whose architecture is
/// in `architectures`, the `gfx` of the rows that the command is about; without any, all that come before the host;
/// without those, `cpu:0`. Those that come before the host are preferred, then the host, then others. A row of one must
/// be valid for all: devices that differ from the first are left out.
std::string default_devices(std::span<const ListedDevice> here, std::span<const std::string> architectures);

}  // namespace attune
