// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/csv/published_row.h"
#include "formats/csv/table_row.h"
#include "ops/family.h"

namespace attune {

/// A column of tuned tables outside the key, whose columns are data of the family (ops/families.cpp). Names are read
/// without regard to case.
struct TableColumn {
  /// first: before the key, in every table. result: where the family's results name it (ops/families.cpp). last: at the
  /// end of every table. last_if_needed: at the end of tables with a row whose text is not empty. read_only: of other
  /// tools, never written.
  enum class Place : uint8_t { first, result, last, last_if_needed, read_only };

  std::string_view name;
  std::string_view other_name;  ///< Its name in some families' tables; empty: it has one.
  Place place = Place::result;
  std::string (*write)(const PublishedRow& row) = nullptr;  ///< Text of a cell; null: read_only.
  /// Takes a cell, empty if the table lacks the column. Throws invalid_input without the place. Null: never read.
  void (*read)(std::string_view cell, TableRow& row) = nullptr;

  bool is_named(std::string_view text) const noexcept;
};

/// All of them: writing (publish()) and reading (Table) go by this list. docs/formats/tables.md describes each.
std::span<const TableColumn> table_columns() noexcept;

/// Whether the tables of every family may have the column: one of the device, the layout, `require`, or `_tag`.
bool is_column_of_all_families(std::string_view name) noexcept;

/// Header of a new tuned table: the first columns, the key, the results. Those at the end are added when it is written.
std::vector<std::string> new_table_header(const FamilySpec& family);

/// Text that Attune writes into a column for a row; nullopt for an unknown column.
std::optional<std::string> table_cell(const FamilySpec& family, const PublishedRow& row, std::string_view column);

/// Takes a cell of a column of the family's parts into the row; returns false for another column.
bool read_part_cell(const FamilySpec& family, std::string_view column, std::string_view cell, TableRow& row);

/// Reads a cell of the column cu_num: 0 if it is empty, nothing if it is no count.
std::optional<int64_t> units_of(std::string_view cell);
/// Returns why a cell of the column cu_num is no count.
std::string units_error(std::string_view cell);

/// Reads a cell of the column us. nullopt for a time that is zero, negative, not finite, absurd (below 1e-9, above
/// 1e18), or not a number: such a row never wins.
std::optional<double> usable_time(std::string_view cell) noexcept;
/// Returns why a cell of the column us is no usable_time().
std::string time_error(std::string_view cell);

}  // namespace attune
