// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/device_info.h"

namespace attune {

/// Bound for a file: the description of one device has about a kilobyte.
inline constexpr uint64_t kMaxDeviceInfoBytes = 1 << 20;

/// The description of a device as `attune list devices --json` prints it (docs/formats/device_info.md), every field.
nlohmann::ordered_json device_json(const DeviceInfo& device);

/// The inverse for one object: members that are not known are ignored. Throws invalid_input with `source` and the
/// field: for a missing field and a value that no device has.
DeviceInfo device_from_json(const nlohmann::json& object, const std::string& source);

/// The devices that a text describes: one object or a list of them, each as device_json() writes it. Members that are
/// not known are ignored. Throws invalid_input with `file` and the byte or the field: for what is no such text, a
/// missing field, a value that no device has, and two devices of one id.
std::vector<DeviceInfo> parse_device_info(std::string_view content, const std::string& file);
/// The same for a file; throws invalid_input for a larger one than kMaxDeviceInfoBytes and like read_file().
std::vector<DeviceInfo> read_device_info(const std::filesystem::path& file);

}  // namespace attune
