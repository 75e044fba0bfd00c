// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "dispatch/table/table_sources.h"
#include "formats/csv/table.h"

namespace attune {

/// A family's tables as the run time finds them. They are read file by file, so that a wrong file does not affect the
/// others, nor a wrong row its table.
struct RuntimeTables {
  const FamilySpec* family = nullptr;
  TableSources sources;
  std::vector<std::string> wrong;  ///< For each of `sources.files`: why it is skipped; empty: it is in `table`.
  std::vector<size_t> documents;   ///< Document number in `table` of each file that is in it.
  std::optional<Table> table;      ///< Empty if no file can be read.
};
/// Reads the tables that the environment names (table_sources()).
RuntimeTables read_runtime_tables(const FamilySpec& family, const DeviceInfo* device = nullptr);
/// Like the above, for given sources. `device`: for a find-db, see find_db_table().
RuntimeTables read_runtime_tables(const FamilySpec& family, TableSources sources, const DeviceInfo* device = nullptr);
/// Returns a sentence such as `2 rows skipped, the first: t.csv:3: …`.
std::string skipped_rows(const Table::SkippedRows& rows);
/// Returns sentences about wrong variables, missing files, and skipped files and rows.
std::vector<std::string> skipped_notices(const RuntimeTables& tables);

/// Returns the family that `op` names, or all if it is empty. Throws invalid_input for an unknown one.
std::vector<const FamilySpec*> wanted_families(const std::string& op);

}  // namespace attune
