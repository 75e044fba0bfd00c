// SPDX-License-Identifier: MIT
#include "pipeline/run/chosen_families.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "formats/csv/untuned_table.h"

namespace attune {
namespace {

std::string names_of_tunable() {
  std::vector<std::string> names;
  for (const FamilySpec& family : families()) {
    if (family.tunable) names.emplace_back(family.op);
  }
  return join(names, ", ");
}

bool has_list(const FamilySpec& family, const std::filesystem::path& config_dir) {
  std::error_code missing;
  return std::filesystem::exists(config_dir / untuned_file_name(family), missing);
}

const FamilySpec& family_of(std::string_view name) {
  const FamilySpec* family = find_family(name);
  if (family == nullptr)
    fail(ErrorCode::invalid_input, "unknown name in --shapes, this build tunes {}: '{}'", names_of_tunable(),
         shown(name));
  return *family;
}

/// Why a family cannot be tuned; empty if it can.
std::string obstacle(const FamilySpec& family, const std::filesystem::path& config_dir) {
  if (!family.tunable)
    return fmt::format("this build reads the tables of {} but cannot tune them, it tunes {}", family.op,
                       names_of_tunable());
  if (!has_list(family, config_dir))
    return fmt::format("the configuration folder has no list of shapes of {}, write it: '{}'", family.op,
                       shown((config_dir / untuned_file_name(family)).string(), 500));
  return {};
}

void add_named(ChosenFamilies& chosen, const FamilySpec& family, const std::filesystem::path& config_dir) {
  const auto is_it = [&](const auto& one) { return one.family == &family; };
  if (std::ranges::any_of(chosen.families, is_it) || std::ranges::any_of(chosen.skipped, is_it)) return;
  if (std::string reason = obstacle(family, config_dir); !reason.empty())
    chosen.skipped.push_back({&family, std::move(reason)});
  else
    chosen.families.push_back({&family, config_dir / untuned_file_name(family)});
}

ChosenFamilies families_with_lists(const std::filesystem::path& config_dir) {
  ChosenFamilies chosen;
  for (const FamilySpec& family : families()) {
    if (!has_list(family, config_dir)) continue;
    if (family.tunable)
      chosen.families.push_back({&family, config_dir / untuned_file_name(family)});
    else
      chosen.notices.push_back(
          fmt::format("left out, this build cannot tune {}: {}", family.op, untuned_file_name(family)));
  }
  return chosen;
}

}  // namespace

ChosenFamilies choose_families(std::string_view names, const std::filesystem::path& config_dir) {
  std::error_code missing;
  if (!std::filesystem::is_directory(config_dir, missing))
    fail(ErrorCode::invalid_input, "there is no configuration folder, check the path: '{}'",
         shown(config_dir.string(), 500));
  if (std::ranges::any_of(names, [](char one) { return static_cast<unsigned char>(one) < ' '; }))
    fail(ErrorCode::invalid_input, "--shapes holds a line end or another control character, put the names on one line");
  ChosenFamilies chosen;
  if (trim(names).empty()) chosen = families_with_lists(config_dir);
  for (const std::string_view piece : split(names, ',')) {
    const std::string_view name = trim(piece);
    if (!name.empty()) add_named(chosen, family_of(name), config_dir);  // Empty: a comma at the end.
  }
  // The user can write a list, but not an op.
  const auto without_list = std::ranges::find_if(chosen.skipped, [](const auto& one) { return one.family->tunable; });
  if (chosen.families.empty() && without_list != chosen.skipped.end())
    fail(ErrorCode::invalid_input, "{}", without_list->reason);
  if (chosen.families.empty() && chosen.skipped.empty())
    fail(ErrorCode::invalid_input,
         "there is nothing to tune: the configuration folder has no list of shapes, such as {}: '{}'",
         untuned_file_name(default_family()), shown(config_dir.string(), 500));
  return chosen;
}

}  // namespace attune
