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
  size_t old_line = 0, new_line = 0;     ///< 0: not there.
  std::optional<double> old_us, new_us;  ///< Usable times only.
  std::optional<double> ratio;           ///< old_us / new_us: above 1 is faster now.
  std::vector<ChangedCell> cells;        ///< Columns that differ as text, in the new file's order; `us` included.
};

struct TableDiff {
  std::vector<RowChange> added, removed, changed;  ///< In the order of the file they stand in (changed: the new one).
  size_t num_same = 0;
};

/// Rows are the same by key, gfx, cu_num and `_tag`; repeated ones are paired in order. `shared_columns`: a column that
/// one of the rows leaves empty is no difference (files of different formats do not say the same). Throws invalid_input
/// for tables of different families.
TableDiff diff(const Table& before, const Table& after, bool shared_columns = false);

}  // namespace attune
