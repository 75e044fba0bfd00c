// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <vector>

#include "ops/family.h"
#include "tables/runtime_tables.h"

namespace attune {

/// The tables of a family in a configuration folder, in the order in which the run time takes them: those of
/// `model_configs`, then the default file; without the environment's variables and overlays. Those that exist.
std::vector<std::filesystem::path> table_files_in(const FamilySpec& family, const std::filesystem::path& config_dir);
/// Reads them. Throws nothing for one that cannot be read: RuntimeTables::wrong has the reason.
RuntimeTables tables_in(const FamilySpec& family, const std::filesystem::path& config_dir);

}  // namespace attune
