// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "formats/csv/row_choice.h"
#include "formats/csv/row_part.h"

namespace attune {

/// One row of a tuned table, as read. Its columns: table_columns.h.
struct TableRow {
  size_t file = 0, row = 0;  ///< Index of the document in the table, and of the row in the document.
  size_t line = 0;
  Problem problem;                          ///< From the key columns; not normalised. An unknown dtype stays as text.
  std::string gfx;                          ///< Derived from cu_num if an old file has no gfx column; may be empty.
  int64_t num_units = 0;                    ///< `cu_num`; 0 if the file has no such column.
  std::string device, layout, tag;          ///< Model, layout name, `_tag`; empty if the file has no such column.
  Requirement require = Requirement::none;  ///< Requirement that the row states of its kernel.
  std::string kernel_name, libtype;
  std::optional<double> us;  ///< nullopt for a time that is zero, negative, not finite, or not a number.
  std::optional<double> err_ratio, tflops, bw;
  std::vector<RowPart> parts;  ///< One for each of FamilySpec::parts.

  /// Requires: the row has a usable time.
  RowRank rank(Requirement required) const noexcept { return {file, *us, require, required}; }
};

}  // namespace attune
