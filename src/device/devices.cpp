// SPDX-License-Identifier: MIT
#include "device/devices.h"

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

namespace {

[[noreturn]] void fail_unknown(std::string_view id) {
  std::vector<std::string> known;
  for (const DeviceInfo& info : list_devices()) known.push_back(info.id);
  fail(ErrorCode::invalid_input, "unknown device; choose one of {}, got '{}'", join(known, ", "), id);
}

}  // namespace

std::unique_ptr<Device> open_device(std::string_view id) {
  for (const DeviceKind& kind : device_kinds()) {
    for (const DeviceInfo& info : kind.list()) {
      if (info.id == id) return kind.open(id);
    }
  }
  fail_unknown(id);
}

DeviceInfo find_device(std::string_view id) {
  for (DeviceInfo& info : list_devices()) {
    if (info.id == (id.empty() ? "cpu:0" : id)) return std::move(info);
  }
  fail_unknown(id);
}

}  // namespace attune
