// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "formats/csv/table.h"

namespace attune {

struct ChangedCell {
  std::string column, before, after;
};

/// One row of a comparison; both sides have the same key and device.
struct RowChange {
  Problem problem;
  std::string gfx;
  int64_t num_units = 0;
  std::string tag;
  size_t old_line = 0, new_line = 0;     ///< 0: no such row.
  std::optional<double> old_us, new_us;  ///< Usable times only.
  std::optional<double> ratio;           ///< old_us / new_us: above 1 means that the new row is faster.
  std::vector<ChangedCell> cells;        ///< Columns whose texts differ, in the order of the new file, including `us`.
};

struct TableDiff {
  std::vector<RowChange> added, removed, changed;  ///< In the order of their file (changed: of the new one).
  size_t num_same = 0;
};

/// Compares two tables. Rows match by key, gfx, cu_num and `_tag`; repeated ones are paired in order. If
/// `shared_columns` is true, a column that is empty in one of the rows is no difference (files of different formats
/// have different columns). Throws invalid_input for tables of different families.
TableDiff diff(const Table& before, const Table& after, bool shared_columns = false);

}  // namespace attune
