// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/text.h"
#include "formats/csv/key_cells.h"
#include "formats/csv/table_columns.h"
#include "ops/family.h"
#include "pipeline/checks.h"
#include "pipeline/family_columns.h"

namespace attune {
namespace {

std::string what_is_read(const FamilySpec& family, std::string_view name) {
  for (const AttributeSpec& key : family.key) {
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

/// Whether a cell is one that names no type that Attune knows.
bool is_unknown_type(const FamilySpec& family, std::string_view column, std::string_view cell) {
  return std::ranges::any_of(family.key, [&](const AttributeSpec& key) {
    return key.kind == ColumnKind::dtype && equal_ignoring_case(key.column, column) && !attribute_value(cell, key.kind);
  });
}

bool has_kernel(const TableRow& row) {
  return !row.kernel_name.empty() ||
         std::ranges::any_of(row.parts, [](const RowPart& part) { return !part.kernel_name.empty(); });
}

/// Why a row is the torn rest of a longer one; nothing if it is whole. A row may be shorter than the header, and one
/// may have an unusable time, but no tool writes a row with neither time nor kernel.
std::optional<std::string> why_torn(const Table& table, const TableRow& row) {
  const CsvDocument& document = table.documents()[row.file];
  const size_t num_cells = document.num_cells(row.row), num_columns = document.columns().size();
  if (table.cell(row, "us").empty() && !has_kernel(row))
    return fmt::format("the row has neither a time nor a kernel, it has {} of {} cells: write it again or remove it",
                       num_cells, num_columns);
  if (num_cells == 0 || num_cells >= num_columns) return std::nullopt;
  const std::string& column = document.columns()[num_cells - 1];
  const std::string_view cell = document.cell(row.row, num_cells - 1);
  if (cell.empty() || !is_unknown_type(table.family(), column, cell)) return std::nullopt;
  return fmt::format("the row ends in column '{}' within a type, after '{}': write it again or remove it", column,
                     shown(cell));
}

}  // namespace

void check_readable(const TableInput& input, FindingList& findings) {
  for (const TableRow& row : input.table.rows()) {
    if (const auto why = why_torn(input.table, row)) findings.add(FindingKind::unreadable, row, *why);
  }
}

void check_headers(const TableStream& table, FindingList& findings) {
  const FamilySpec& family = table.family();
  const auto documents = table.documents();
  for (size_t file = 0; file < documents.size(); ++file) {
    for (const std::string& name : new_table_header(family)) {
      if (!place_of_column(documents[file], name))
        findings.add(FindingKind::missing_column, file, 1,
                     fmt::format("a table of {} has the column '{}'{}", family.op, name, what_is_read(family, name)));
    }
  }
}

void check_cells(const TableInput& input, FindingList& findings) {
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
      if (place && !may_be_empty(family, name)) cells[file].push_back({name, *place});
    }
  }
  for (const TableRow& row : input.table.rows()) {
    for (const Cell& cell : cells[row.file]) {
      if (documents[row.file].cell(row.row, cell.place).empty())
        findings.add(FindingKind::missing_column, row, fmt::format("the cell of column '{}' is empty", cell.name));
    }
  }
}

}  // namespace attune
