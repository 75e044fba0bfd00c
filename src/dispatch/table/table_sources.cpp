// SPDX-License-Identifier: MIT
#include "dispatch/table/table_sources.h"

#include <fmt/format.h>
#include <unistd.h>

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
bool are_required(TablePlaces& places) {
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

/// Adds the named files, with why they are no tables.
void add_named(const TablePlaces& places, const CheckNamed& check, TableSources& sources) {
  bool serves = false;
  for (const auto& file : places.named) {
    const NamedTableCheck found = check(file);
    TableSource source{file, Origin::variable};
    if (found.why_not) {
      source.why_skipped = fmt::format("{} names {}", places.variable, *found.why_not);
      if (places.is_required && sources.error.empty()) sources.error = source.why_skipped;
    }
    serves = serves || (!found.why_not && found.has_rows);
    sources.files.push_back(std::move(source));
  }
  if (places.named.empty() || serves) return;
  sources.why_none_serves = fmt::format("{} names no table with a row that can serve this device", places.variable);
  if (places.is_required && sources.error.empty()) sources.error = sources.why_none_serves;
  const std::string rest = places.strict ? ", the other tables stay in use" : "";
  std::string& of_last = sources.files.back().why_skipped;
  if (of_last.empty())
    sources.notices.push_back(sources.why_none_serves + rest);
  else
    of_last += rest;
}

bool is_known_variable(std::string_view name) {
  if (name == "ATTUNE_CONFIG_DIR" || name == "ATTUNE_CONFIG_STRICT") return true;
  return std::any_of(families().begin(), families().end(), [&](const FamilySpec& family) {
    return name == fmt::format("ATTUNE_CONFIG_{}", family.variable) ||
           name == fmt::format("AITER_CONFIG_{}", family.variable);
  });
}

/// Adds a sentence for each variable that begins as those of tables do and is none, in the order of their names.
void add_unknown_variables(std::vector<std::string>& notices) {
  std::vector<std::string> unknown;
  for (char** one = ::environ; one != nullptr && *one != nullptr; ++one) {
    const std::string_view entry(*one), name = entry.substr(0, entry.find('='));
    const std::string lower = to_lower(name);
    if (!lower.starts_with("attune_config") && !lower.starts_with("aiter_config")) continue;
    if (!is_known_variable(name) && !value_of(std::string(name)).empty()) unknown.emplace_back(name);
  }
  std::sort(unknown.begin(), unknown.end());
  for (const std::string& name : unknown)
    notices.push_back(
        fmt::format("{} is not read, no family of tables has this variable; attune list ops names them", shown(name)));
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
    places.is_required = are_required(places);
    places.strict = prefix == "AITER" || places.is_required;
    for (const auto piece : split(named, ':')) {
      if (!trim(piece).empty()) places.named.emplace_back(trim(piece));
    }
    break;
  }
  places.overlay = path_if_any(overlay_location);
  places.configs = config_location().path;
  return places;
}

TableSources table_sources(const FamilySpec& family, const TablePlaces& places, const CheckNamed& check) {
  TableSources sources{.files = {},
                       .variable = places.variable,
                       .strict = places.strict,
                       .why_none_serves = {},
                       .error = {},
                       .notices = places.notices};
  add_named(places, check, sources);
  if (sources.strict && sources.why_none_serves.empty()) return sources;
  std::error_code missing;
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

TableSources table_sources(const FamilySpec& family, const DeviceInfo* device) {
  return table_sources(family, table_places(family),
                       [&](const std::filesystem::path& file) { return check_named_table(file, family, device); });
}

std::vector<std::string> table_variable_notices() {
  std::vector<std::string> notices;
  const std::string folder = value_of("ATTUNE_CONFIG_DIR");
  std::error_code error;
  if (!folder.empty() && !std::filesystem::is_directory(folder, error))
    notices.push_back(fmt::format("ATTUNE_CONFIG_DIR names a folder that does not exist{}: '{}'",
                                  folder.starts_with('~') ? ", a shell replaces ~ only outside quotation marks" : "",
                                  folder));
  for (const FamilySpec& family : families()) {
    const std::string own = fmt::format("ATTUNE_CONFIG_{}", family.variable),
                      other = fmt::format("AITER_CONFIG_{}", family.variable);
    if (!value_of(own).empty() && !value_of(other).empty() && value_of(own) != value_of(other))
      notices.push_back(fmt::format("{} and {} name different tables, the first is used", own, other));
  }
  add_unknown_variables(notices);
  return notices;
}

}  // namespace attune
