// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/device_info.h"
#include "dispatch/table/table_sources.h"
#include "formats/csv/table.h"

namespace attune {

/// A family's tables as the run time finds them, read file by file: a wrong one does not spoil the others, a wrong row
/// not its table.
struct RuntimeTables {
  const FamilySpec* family = nullptr;
  TableSources sources;
  std::vector<std::string> wrong;  ///< Of each of `sources.files` why it is left out; empty: it is in `table`.
  std::vector<size_t> documents;   ///< Of each of `sources.files` that is in `table` its number there.
  std::optional<Table> table;      ///< Nothing when no file can be read.
};
RuntimeTables read_runtime_tables(const FamilySpec& family);
/// `2 rows left out, the first: t.csv:3: …`
std::string left_out_rows(const Table::LeftOut& rows);
/// Says on standard error which files are not there, and which files and rows are left out.
void print_left_out(const RuntimeTables& tables);

/// The tables that a verb looks in: those of `named` (`F:F2` each, of the family `op` unless that is empty), whose
/// oddities are said; if none is named the run time's of `families`. Throws invalid_input for a named one that is
/// wrong; one of the run time's is said and left out.
std::vector<Table> tables_to_look_in(std::span<const std::string> named, const std::string& op,
                                     std::span<const FamilySpec* const> families);

/// The family that `op` names, all if it is empty. Throws invalid_input for an unknown one.
std::vector<const FamilySpec*> wanted_families(const std::string& op);

/// The largest bound of predictions (ATTUNE_MAX_REGRET); a wrong value is said on standard error.
double max_regret();

}  // namespace attune
