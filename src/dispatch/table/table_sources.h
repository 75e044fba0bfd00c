// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/table/named_table.h"
#include "ops/family.h"

namespace attune {

/// The origin of a run-time table, in the order of precedence.
enum class Origin : uint8_t { variable, overlay, model, standard };
std::string_view name(Origin origin) noexcept;  ///< `variable`, `overlay`, `model`, `default`.

struct TableSource {
  std::filesystem::path file;  ///< Exists, or is named by a variable.
  Origin origin = Origin::standard;
  /// A sentence, if a variable names the file and it is no table of the family. Readers skip and report it.
  std::string why_skipped = {};
};

struct TableSources {
  std::vector<TableSource> files;  ///< The first file that has a key wins.
  std::string variable;            ///< Variable that names tables, such as `ATTUNE_CONFIG_GEMM_BF16`; empty: none does.
  bool strict = false;             ///< The named tables replace all others.
  /// A sentence, if tables are named and none can serve this device: then the others stay in use. Empty otherwise.
  std::string why_none_serves;
  /// A sentence, if ATTUNE_CONFIG_STRICT=1 makes an error of a named file. Empty otherwise.
  std::string error;
  std::vector<std::string> notices;  ///< Sentences about variables with invalid values.
};

/// Where to look for a family's tables, according to the environment. Reads variables, which no thread may change
/// meanwhile: a library reads them once, in the thread that created it.
struct TablePlaces {
  std::string variable;      ///< Variable that names tables; empty: none does.
  bool strict = false;       ///< The named tables replace all others.
  bool is_required = false;  ///< ATTUNE_CONFIG_STRICT=1: a named file that is no table is an error.
  std::vector<std::filesystem::path> named;
  std::filesystem::path overlay, configs;  ///< Folders; `overlay` is empty if there is no home folder.
  std::vector<std::string> notices;        ///< Sentences about variables with invalid values.
};
TablePlaces table_places(const FamilySpec& family);

/// Sentences about variables that look like those of table_places() and are not read: a folder that does not exist, a
/// name of no family, two spellings with different values. Reads the environment.
std::vector<std::string> table_variable_notices();

/// Checks a named file, see check_named_table().
using CheckNamed = std::function<NamedTableCheck(const std::filesystem::path& file)>;

/// Returns the files that exist now. Lists folders, and checks the named files.
TableSources table_sources(const FamilySpec& family, const TablePlaces& places, const CheckNamed& check);
/// Returns the tables of a family for the current environment and folders, in this order: those of
/// ATTUNE_CONFIG_<FAMILY> (else of AITER_CONFIG_<FAMILY>, which replaces all others, like ATTUNE_CONFIG_STRICT=1),
/// `overlay/` of the state folder, `model_configs/` of the configuration folder (files whose name contains the family's
/// stem, sorted by name), and the family's default file. Untuned files are excluded. A named file that is no table of
/// the family is skipped; if no named table can serve, the others stay in use. `device`: null where that depends on no
/// device. Reads the environment, lists folders and reads the named files.
TableSources table_sources(const FamilySpec& family, const DeviceInfo* device = nullptr);

}  // namespace attune
