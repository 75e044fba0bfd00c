// SPDX-License-Identifier: MIT
#include "device/device.h"

#include "base/error.h"
#include "base/text.h"
#include "device/device_kind.h"

namespace attune {

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> all;
  for (const DeviceKind& kind : device_kinds()) {
    for (DeviceInfo& info : kind.list()) all.push_back(std::move(info));
  }
  return all;
}

std::unique_ptr<Device> open_device(std::string_view id) {
  std::vector<std::string> known;
  for (const DeviceKind& kind : device_kinds()) {
    for (const DeviceInfo& info : kind.list()) {
      if (info.id == id) return kind.open(id);
      known.push_back(info.id);
    }
  }
  fail(ErrorCode::invalid_input, "there is no such device here; choose one of {}, got '{}'", join(known, ", "), id);
}

}  // namespace attune
