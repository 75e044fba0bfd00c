// SPDX-License-Identifier: MIT
#include "dispatch/table/table_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/locations.h"
#include "base/text.h"
#include "base/trusted_path.h"
#include "base/variable.h"
#include "formats/csv/family_of_file.h"

namespace attune {
namespace {

std::string value_of(const std::string& variable) {
  const char* value = variable_value(variable.c_str());
  return value == nullptr ? std::string() : std::string(value);
}

/// Called only if a variable names tables: otherwise nothing could be replaced.
bool is_strict(TablePlaces& places) {
  const std::string value = value_of("ATTUNE_CONFIG_STRICT");
  if (value == "1") return true;
  if (!value.empty() && value != "0") {
    places.notices.push_back(
        fmt::format("ATTUNE_CONFIG_STRICT expects 0 or 1, using 0 for {}: '{}'", places.variable, value));
  }
  return false;
}

/// Returns the family's tables in a folder, sorted by name.
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

TablePlaces table_places(const FamilySpec& family) {
  TablePlaces places;
  for (const std::string prefix : {"ATTUNE", "AITER"}) {
    const std::string variable = fmt::format("{}_CONFIG_{}", prefix, family.variable);
    const std::string named = value_of(variable);
    if (named.empty()) continue;
    places.variable = variable;
    places.strict = prefix == "AITER" || is_strict(places);
    for (const auto piece : split(named, ':')) {
      if (!trim(piece).empty()) places.named.emplace_back(trim(piece));
    }
    break;
  }
  places.overlay = path_if_any(overlay_location);
  places.configs = config_location().path;
  return places;
}

TableSources table_sources(const FamilySpec& family, const TablePlaces& places) {
  TableSources sources{.files = {}, .variable = places.variable, .strict = places.strict, .notices = places.notices};
  std::error_code missing;
  for (const auto& file : places.named) {
    TableSource source{file, Origin::variable};
    if (!std::filesystem::exists(file, missing))
      source.why_missing = fmt::format("{} names a table that does not exist: '{}'", places.variable, file.string());
    sources.files.push_back(std::move(source));
  }
  if (sources.strict) return sources;
  if (!places.overlay.empty()) {
    for (const auto& file : tables_in(places.overlay, family)) {
      if (const auto why = why_not_trusted(file))
        sources.notices.push_back(fmt::format("a table of the overlay is skipped, {}", *why));
      else
        sources.files.push_back({file, Origin::overlay});
    }
  }
  for (const auto& file : tables_in(places.configs / "model_configs", family))
    sources.files.push_back({file, Origin::model});
  const auto standard = places.configs / family.default_file;
  if (std::filesystem::exists(standard, missing)) sources.files.push_back({standard, Origin::standard});
  return sources;
}

TableSources table_sources(const FamilySpec& family) { return table_sources(family, table_places(family)); }

}  // namespace attune
