// SPDX-License-Identifier: MIT
#include "dispatch/table_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/locations.h"
#include "base/text.h"
#include "formats/csv/family_of_file.h"

namespace attune {
namespace {

std::string value_of(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  return value == nullptr ? std::string() : std::string(value);
}

/// Tables of the family in a folder, by name.
std::vector<std::filesystem::path> tables_in(const std::filesystem::path& folder, const FamilySpec& family) {
  std::vector<std::filesystem::path> files;
  std::error_code missing;
  for (std::filesystem::directory_iterator at(folder, missing), end; at != end; at.increment(missing)) {
    const std::string file = at->path().filename().string();
    if (!file.ends_with(".csv") || file.find("untuned") != std::string::npos) continue;
    if (family_of_name(file) == &family) files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::string_view name(Origin origin) noexcept {
  static constexpr std::array<std::string_view, 4> kNames = {"variable", "overlay", "model", "default"};
  return kNames[static_cast<size_t>(origin)];
}

TableSources table_sources(const FamilySpec& family) {
  TableSources sources;
  const auto add = [&](const std::filesystem::path& file, Origin origin) { sources.files.push_back({file, origin}); };
  for (const std::string prefix : {"ATTUNE", "AITER"}) {
    const std::string variable = fmt::format("{}_CONFIG_{}", prefix, family.variable);
    const std::string named = value_of(variable);
    if (named.empty()) continue;
    sources.variable = variable;
    sources.strict = prefix == "AITER" || value_of("ATTUNE_CONFIG_STRICT") == "1";
    for (const auto piece : split(named, ':')) {
      if (trim(piece).empty()) continue;
      const std::filesystem::path file(trim(piece));
      std::error_code missing;
      if (!std::filesystem::exists(file, missing))
        sources.notices.push_back(fmt::format("{} names a table that is not there: '{}'", variable, file.string()));
      add(file, Origin::variable);
    }
    break;
  }
  if (sources.strict) return sources;
  if (const auto overlay = path_if_any(overlay_location); !overlay.empty()) {
    for (const auto& file : tables_in(overlay, family)) add(file, Origin::overlay);
  }
  const std::filesystem::path configs = config_location().path;
  for (const auto& file : tables_in(configs / "model_configs", family)) add(file, Origin::model);
  std::error_code missing;
  const auto standard = configs / family.default_file;
  if (std::filesystem::exists(standard, missing)) add(standard, Origin::standard);
  return sources;
}

}  // namespace attune
