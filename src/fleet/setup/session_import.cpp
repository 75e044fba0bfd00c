// SPDX-License-Identifier: MIT
#include "fleet/setup/session_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "core/device_info.h"
#include "fleet/setup/import_configurations.h"
#include "formats/device_info/device_info.h"

namespace attune {
namespace {

/// Whether a file is a dump of a database as text.
bool is_sql_dump(const std::string& file) {
  constexpr std::array<std::string_view, 5> kBeginnings = {"-- MySQL dump", "-- MariaDB dump", "/*M!", "/*!",
                                                           "CREATE TABLE"};
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return false;
  std::ifstream stream(file, std::ios::binary);
  std::string beginning(64, '\0');
  stream.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  beginning.resize(static_cast<size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  return std::ranges::any_of(kBeginnings, [&](std::string_view one) { return beginning.starts_with(one); });
}

/// A device with architecture and units alone. No session of a real device has its fingerprint.
FleetEnvironment environment_of(const ForeignSession& found) {
  const DeviceInfo device{.id = "hip:0",
                          .kind = "hip",
                          .gfx = found.device.arch,
                          .num_units = found.device.num_units,
                          .model = "unknown",
                          .processor = ""};
  nlohmann::ordered_json facts = device_json(device);
  facts.erase("bandwidth_gbs");
  facts.erase("peak_gflops");
  return {
      .fingerprint = device.fingerprint(), .device_json = facts.dump(), .versions = found.versions, .variables = {}};
}

}  // namespace

ForeignSession read_foreign_file(const std::string& file, const std::string& tag, const std::string& source,
                                 const MiopenDevice& device) {
  if (is_sql_dump(file))
    fail(ErrorCode::invalid_input,
         "{}: it is a dump of a database, load it into an empty one with `mariadb DATABASE < {}` and import that with "
         "--from mariadb://USER@HOST/DATABASE",
         shown(file, 500), shown(file, 500));
  const auto stated = device_of_miopen_file(file);
  if (!stated && device.arch.empty())
    fail(ErrorCode::invalid_input,
         "the file's name states no device, unlike gfx90878.HIP.fdb.txt: name it with --arch and --num_cu: '{}'",
         shown(file, 500));
  ImportOptions options;
  options.file = file;
  options.tag = tag;
  options.source = source;
  options.with_results = true;
  ImportedConfigurations imported = read_configurations(options);
  return {.device = device.arch.empty() ? *stated : device,
          .versions = {},
          .ticket = {},
          .image = {},
          .source = std::move(imported.source),
          .configurations = std::move(imported.configurations),
          .results = std::move(imported.foreign),
          .notices = std::move(imported.notices)};
}

void check_device(const ForeignSession& found) {
  device_from_json(nlohmann::json::parse(environment_of(found).device_json),
                   "the device of " + shown(found.source, 500));
}

SessionImport store_foreign_session(FleetStore& store, ForeignResults& results, const ForeignSession& found,
                                    const std::string& reason) {
  SessionImport made;
  std::set<std::string> ids;  // Some are there once for each tag.
  for (const FleetConfiguration& one : found.configurations) ids.insert(one.id);
  made.num_configurations = ids.size();
  made.session = store.import_session(environment_of(found), reason,
                                      {.image = found.image, .ticket = found.ticket, .source = found.source});
  made.num_new = store.add_configurations(found.configurations);
  results.replace(found.source, found.results);
  return made;
}

}  // namespace attune
