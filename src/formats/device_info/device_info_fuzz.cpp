// SPDX-License-Identifier: MIT
#include "formats/device_info/device_info.h"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/error.h"

/// Any bytes are either devices whose descriptions can be read back, or an Error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune;
  try {
    for (const DeviceInfo& device : parse_device_info({reinterpret_cast<const char*>(data), size}, "devices.json")) {
      const auto again = parse_device_info(device_json(device).dump(), "again.json");
      ATTUNE_CHECK(again.size() == 1 && again.front() == device, "a device changed on its way: '{}'", device.id);
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
  }
  return 0;
}
