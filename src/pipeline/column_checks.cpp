// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "formats/csv/table_columns.h"
#include "ops/family.h"
#include "pipeline/checks.h"
#include "pipeline/family_columns.h"

namespace attune {
namespace {

std::string what_is_read(const FamilySpec& family, std::string_view name) {
  for (const KeyColumn& key : family.key) {
    if (equal_ignoring_case(key.column, name) && !key.default_value.empty())
      return fmt::format(", read as '{}'", key.default_value);
  }
  return equal_ignoring_case(name, "gfx") ? ", guessed from cu_num" : "";
}

/// Columns that may be empty: numbers of other tools, and the second of two kernels where one does both stages.
bool may_be_empty(const FamilySpec& family, std::string_view name) {
  // An empty time is unusable, which check_times() says.
  if (equal_ignoring_case(name, "us") || equal_ignoring_case(name, "gfx")) return true;
  const bool is_known = std::any_of(table_columns().begin(), table_columns().end(), [&](const TableColumn& column) {
    return column.read != nullptr && column.is_named(name);
  });
  const bool is_of_part = !family.parts.empty() && equal_ignoring_case(family.parts.front().kernel_name, name);
  return !is_known && !is_of_part;
}

/// Whether a row has a cell of its results. One without is cut off: nobody writes a row before it has a time.
bool has_results(const TableInput& input, const TableRow& row) {
  const CsvDocument& document = input.table.documents()[row.file];
  const auto& results = input.table.family().results;
  return std::any_of(results.begin(), results.end(), [&](std::string_view name) {
    const auto place = place_of_column(document, name);
    return place && !document.cell(row.row, *place).empty();
  });
}

}  // namespace

void check_readable(const TableInput& input, FindingList& findings) {
  const auto documents = input.table.documents();
  for (const auto& [file, row, why] : input.table.unreadable())
    findings.add(FindingKind::unreadable, file, documents[file].line(row), why);
  for (const TableRow& row : input.table.rows()) {
    if (!has_results(input, row))
      findings.add(FindingKind::unreadable, row, "the row ends before its results, remove it or write it whole");
  }
}

void check_columns(const TableInput& input, FindingList& findings) {
  const FamilySpec& family = input.table.family();
  const auto documents = input.table.documents();
  struct Cell {
    std::string name;
    size_t place;
  };
  std::vector<std::vector<Cell>> cells(documents.size());
  for (size_t file = 0; file < documents.size(); ++file) {
    for (const std::string& name : new_table_header(family)) {
      const auto place = place_of_column(documents[file], name);
      if (!place)
        findings.add(FindingKind::missing_column, file, 1,
                     fmt::format("a table of {} has the column '{}'{}", family.op, name, what_is_read(family, name)));
      else if (!may_be_empty(family, name))
        cells[file].push_back({name, *place});
    }
  }
  for (const TableRow& row : input.table.rows()) {
    if (!has_results(input, row)) continue;
    for (const Cell& cell : cells[row.file]) {
      if (documents[row.file].cell(row.row, cell.place).empty())
        findings.add(FindingKind::missing_column, row, fmt::format("the cell of column '{}' is empty", cell.name));
    }
  }
}

}  // namespace attune
