// SPDX-License-Identifier: MIT
#include "pipeline/run/family_tables.h"

#include "dispatch/table/table_sources.h"

namespace attune {
namespace {

TableSources sources_in(const FamilySpec& family, const std::filesystem::path& config_dir) {
  TablePlaces places;
  places.configs = config_dir;
  return table_sources(family, places, nullptr);  // No variable names tables here.
}

}  // namespace

std::vector<std::filesystem::path> table_files_in(const FamilySpec& family, const std::filesystem::path& config_dir) {
  std::vector<std::filesystem::path> files;
  for (const TableSource& source : sources_in(family, config_dir).files) files.push_back(source.file);
  return files;
}

RuntimeTables tables_in(const FamilySpec& family, const std::filesystem::path& config_dir) {
  return read_runtime_tables(family, sources_in(family, config_dir));
}

}  // namespace attune
