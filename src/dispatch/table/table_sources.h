// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ops/family.h"

namespace attune {

/// Where a table of the run time comes from, in the order of precedence.
enum class Origin : uint8_t { variable, overlay, model, standard };
std::string_view name(Origin origin) noexcept;  ///< `variable`, `overlay`, `model`, `default`.

struct TableSource {
  std::filesystem::path file;  ///< Exists, or is named by a variable.
  Origin origin = Origin::standard;
  std::string why_missing;  ///< A sentence when a variable names it and it was not there: for its reader to say.
};

struct TableSources {
  std::vector<TableSource> files;    ///< The first that has a key wins.
  std::string variable;              ///< That names tables: `ATTUNE_CONFIG_GEMM_BF16`; empty: none does.
  bool strict = false;               ///< They replace all others.
  std::vector<std::string> notices;  ///< Of variables with a value that is none.
};

/// Where a family's tables are to be looked for, as the environment is now. Reads variables, which no thread may change
/// meanwhile: a library asks once, in the thread that made it.
struct TablePlaces {
  std::string variable;  ///< That names tables; empty: none does.
  bool strict = false;
  std::vector<std::filesystem::path> named;
  std::filesystem::path overlay, configs;  ///< Folders; `overlay` empty: there is no home folder.
  std::vector<std::string> notices;        ///< Of variables with a value that is none.
};
TablePlaces table_places(const FamilySpec& family);

/// The files that are there now. Lists folders; no file is opened.
TableSources table_sources(const FamilySpec& family, const TablePlaces& places);
/// The tables of a family, as the environment and the folders are now: those of ATTUNE_CONFIG_<FAMILY> (else of
/// AITER_CONFIG_<FAMILY>, which replaces the rest, as ATTUNE_CONFIG_STRICT=1 does), `overlay/` of the state folder,
/// `model_configs/` of the configuration folder (files whose name holds the family's stem, by name), and the family's
/// default file. Untuned files are left out. Reads the environment and lists folders; no file is opened.
TableSources table_sources(const FamilySpec& family);

}  // namespace attune
