// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ops/family.h"

namespace attune {

/// The origin of a run-time table, in the order of precedence.
enum class Origin : uint8_t { variable, overlay, model, standard };
std::string_view name(Origin origin) noexcept;  ///< `variable`, `overlay`, `model`, `default`.

struct TableSource {
  std::filesystem::path file;  ///< Exists, or is named by a variable.
  Origin origin = Origin::standard;
  std::string why_missing;  ///< A sentence, if a variable names the file and it did not exist; the reader reports it.
};

struct TableSources {
  std::vector<TableSource> files;  ///< The first file that has a key wins.
  std::string variable;            ///< Variable that names tables, such as `ATTUNE_CONFIG_GEMM_BF16`; empty: none does.
  bool strict = false;             ///< The named tables replace all others.
  std::vector<std::string> notices;  ///< Sentences about variables with invalid values.
};

/// Where to look for a family's tables, according to the environment. Reads variables, which no thread may change
/// meanwhile: a library reads them once, in the thread that created it.
struct TablePlaces {
  std::string variable;  ///< Variable that names tables; empty: none does.
  bool strict = false;
  std::vector<std::filesystem::path> named;
  std::filesystem::path overlay, configs;  ///< Folders; `overlay` is empty if there is no home folder.
  std::vector<std::string> notices;        ///< Sentences about variables with invalid values.
};
TablePlaces table_places(const FamilySpec& family);

/// Returns the files that exist now. Lists folders; opens no file.
TableSources table_sources(const FamilySpec& family, const TablePlaces& places);
/// Returns the tables of a family for the current environment and folders, in this order: those of
/// ATTUNE_CONFIG_<FAMILY> (else of AITER_CONFIG_<FAMILY>, which replaces all others, like ATTUNE_CONFIG_STRICT=1),
/// `overlay/` of the state folder, `model_configs/` of the configuration folder (files whose name contains the family's
/// stem, sorted by name), and the family's default file. Untuned files are excluded. Reads the environment and lists
/// folders; opens no file.
TableSources table_sources(const FamilySpec& family);

}  // namespace attune
