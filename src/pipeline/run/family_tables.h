// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <vector>

#include "ops/family.h"
#include "tables/runtime_tables.h"

namespace attune {

/// The existing tables of a family in a configuration folder, in the order in which the run time takes them: the tables
/// in `model_configs`, then the default file. Without the environment's variables and overlays.
std::vector<std::filesystem::path> table_files_in(const FamilySpec& family, const std::filesystem::path& config_dir);
/// Reads them. Throws nothing for a table that cannot be read: RuntimeTables::wrong has the reason.
RuntimeTables tables_in(const FamilySpec& family, const std::filesystem::path& config_dir);

}  // namespace attune
