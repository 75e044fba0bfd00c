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
};

struct TableSources {
  std::vector<TableSource> files;    ///< The first that has a key wins.
  std::string variable;              ///< That names tables: `ATTUNE_CONFIG_GEMM_BF16`; empty: none does.
  bool strict = false;               ///< They replace all others.
  std::vector<std::string> notices;  ///< Of files that a variable names and that are not there.
};

/// The tables of a family, as the environment and the folders are now: those of ATTUNE_CONFIG_<FAMILY> (else of
/// AITER_CONFIG_<FAMILY>, which replaces the rest, as ATTUNE_CONFIG_STRICT=1 does), `overlay/` of the state folder,
/// `model_configs/` of the configuration folder (files whose name holds the family's stem, by name), and the family's
/// default file. Untuned files are left out. Reads the environment and lists folders; no file is opened.
TableSources table_sources(const FamilySpec& family);

}  // namespace attune
