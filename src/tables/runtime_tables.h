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

/// A family's tables as the run time finds them. They are read file by file, so that a wrong file does not affect the
/// others, nor a wrong row its table.
struct RuntimeTables {
  const FamilySpec* family = nullptr;
  TableSources sources;
  std::vector<std::string> wrong;  ///< For each of `sources.files`: why it is skipped; empty: it is in `table`.
  std::vector<size_t> documents;   ///< Document number in `table` of each file that is in it.
  std::optional<Table> table;      ///< Empty if no file can be read.
};
RuntimeTables read_runtime_tables(const FamilySpec& family);
/// Returns a sentence such as `2 rows left out, the first: t.csv:3: …`.
std::string left_out_rows(const Table::LeftOut& rows);
/// Reports missing files and skipped files and rows on standard error.
void print_left_out(const RuntimeTables& tables);

/// Returns the tables that a verb searches: the `named` ones (`F:F2` each, of the family `op` unless it is empty), with
/// their notices printed; else the run time's tables of `families`. Throws invalid_input for a wrong table among
/// `named`; a wrong one of the run time's is reported and skipped.
std::vector<Table> tables_to_look_in(std::span<const std::string> named, const std::string& op,
                                     std::span<const FamilySpec* const> families);

/// Returns the family that `op` names, or all if it is empty. Throws invalid_input for an unknown one.
std::vector<const FamilySpec*> wanted_families(const std::string& op);

/// Returns the largest bound of predictions (ATTUNE_MAX_REGRET); reports an invalid value on standard error.
double max_regret();

}  // namespace attune
