// SPDX-License-Identifier: MIT
#include "formats/device_info/device_info.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/json_fields.h"

namespace attune {
namespace {

using nlohmann::json;

constexpr std::string_view kKind = "a device of `attune list devices --json`";
constexpr int kMaxDepth = 8;
constexpr int64_t kMaxUnits = 1 << 20;
constexpr int64_t kMaxFact = int64_t{1} << 60;  // Sums and products of a few facts stay within 64 bits.
constexpr size_t kMaxNameBytes = 64, kMaxTextBytes = 4096;

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

/// Whether a text may stand in keys, in cells of tables and in paths.
bool is_plain_name(std::string_view text, std::string_view punctuation) {
  return !text.empty() && text.size() <= kMaxNameBytes && is_letter_or_digit(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_letter_or_digit(c) || punctuation.find(c) != std::string_view::npos; });
}

std::string name_in(const JsonFields& fields, std::string_view field, std::string_view punctuation) {
  std::string text = fields.required_text(field);
  if (!is_plain_name(text, punctuation))
    fields.refuse(field, fmt::format("expects a name of letters, digits and {}", punctuation), text);
  return text;
}

/// A line of a table or a report.
std::string line_in(const JsonFields& fields, std::string_view field, std::string_view refused = "") {
  std::string text = fields.required_text(field);
  const auto is_refused = [&](unsigned char c) {
    return c < ' ' || c == 0x7f || refused.find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (text.size() > kMaxTextBytes || std::any_of(text.begin(), text.end(), is_refused))
    fields.refuse(
        field,
        fmt::format("expects one line of at most {} bytes{}", kMaxTextBytes, refused.empty() ? "" : " without commas"),
        text);
  return text;
}

DeviceInfo device_in(const JsonFields& fields) {
  DeviceInfo device;
  device.id = name_in(fields, "id", ":._-");
  device.kind = name_in(fields, "kind", "_-");
  device.gfx = name_in(fields, "gfx", "._+-");
  device.num_units = fields.required("cu_num", 1, kMaxUnits);
  device.model = line_in(fields, "model", ",");
  device.processor = line_in(fields, "processor");
  device.memory_bytes = fields.required("memory_bytes", 0, kMaxFact);
  device.cache_bytes = fields.required("cache_bytes", 0, kMaxFact);
  const auto facts = fields.object("facts");
  if (!facts) fields.refuse_absence("facts");
  for (const std::string& fact : facts->names()) {
    if (!is_plain_name(fact, "_")) fields.refuse("facts", "expects names of letters, digits and _", fact);
    device.facts[fact] = facts->required(fact, 0, kMaxFact);
  }
  // Bounds and measurements, on which no config depends.
  if (const auto peaks = fields.object("peak_gflops")) {
    for (const std::string& dtype : peaks->names()) {
      if (const auto rate = peaks->real(dtype)) device.peak_gflops[dtype] = *rate;
    }
  }
  device.bandwidth_gbs = fields.real("bandwidth_gbs").value_or(0);
  return device;
}

}  // namespace

nlohmann::ordered_json device_json(const DeviceInfo& device) {
  return {{"id", device.id},
          {"kind", device.kind},
          {"gfx", device.gfx},
          {"cu_num", device.num_units},
          {"fingerprint", device.fingerprint()},  // For people and scripts: who reads it makes it anew.
          {"model", device.model},
          {"processor", device.processor},
          {"memory_bytes", device.memory_bytes},
          {"cache_bytes", device.cache_bytes},
          {"facts", device.facts},
          {"peak_gflops", device.peak_gflops},
          {"bandwidth_gbs", device.bandwidth_gbs}};
}

DeviceInfo device_from_json(const json& object, const std::string& source) {
  return device_in(JsonFields(object, {source, std::string(kKind)}));
}

std::vector<DeviceInfo> parse_device_info(std::string_view content, const std::string& file) {
  const JsonSource source{file, std::string(kKind)};
  const json document = parse_json(content, source, kMaxDepth);
  const auto refuse = [&](std::string_view what) {
    fail(ErrorCode::invalid_input,
         "{}: expected one device, or a list of them, as `attune list devices --json` writes "
         "it, got {}",
         shown(file, 500), what);
  };
  if (document.is_object()) return {device_in(JsonFields(document, source))};
  if (!document.is_array()) refuse(document.type_name());
  if (document.empty()) refuse("an empty list");
  std::vector<DeviceInfo> devices;
  std::set<std::string> ids;
  for (size_t i = 0; i < document.size(); ++i) {
    if (!document[i].is_object()) refuse(fmt::format("a list whose item {} is of type {}", i, document[i].type_name()));
    const JsonFields fields(document[i], source, fmt::format("[{}].", i));
    devices.push_back(device_in(fields));
    if (!ids.insert(devices.back().id).second) fields.refuse("id", "is the id of two devices", devices.back().id);
  }
  return devices;
}

std::vector<DeviceInfo> read_device_info(const std::filesystem::path& file) {
  return parse_device_info(read_file(file, kMaxDeviceInfoBytes), file.string());
}

}  // namespace attune
