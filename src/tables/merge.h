// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "formats/csv/table.h"
#include "tables/row_status.h"

namespace attune {

/// One table of several: for each key, layout and device, the row that the run time would use. Move-only, because the
/// reports point into the table.
class Merge {
 public:
  explicit Merge(Table table) : table_(std::move(table)), rows_(row_statuses(table_)) {}
  Merge(Merge&&) = default;
  Merge& operator=(Merge&&) = default;

  const Table& table() const noexcept { return table_; }
  /// Every row in the order of the files. The merged table holds the rows with RowStatus::taken.
  std::span<const RowReport> rows() const noexcept { return rows_; }
  /// The merged table as text. The columns are those of the first file, then those that only others have.
  std::string text() const;
  /// Sentences about rows of no model that would win over rows of a model: in one table the lower time wins, regardless
  /// of the file.
  std::vector<std::string> notices() const;

 private:
  Table table_;
  std::vector<RowReport> rows_;
};

/// The merged table of a family: its default file's name in merged_location().
std::filesystem::path merged_table(const FamilySpec& family);

/// Reads the tables `named` (`F:F2` each), else those of the run time of the family `op`, for a merge into `output`
/// (empty: merged_table()). Unlike the run time, it refuses a wrong file: some of the rows must not pass for all.
/// Throws invalid_input, also for an output that is one of the inputs or no table of the family, and when there is
/// nothing to merge.
Merge read_merge(std::span<const std::string> named, const std::string& op, const std::filesystem::path& output);

/// Writes the merged table under the output's lock, and makes its folder if that is merged_location(). Throws io and
/// timeout.
void write_merge(const Merge& merge, const std::filesystem::path& output);

}  // namespace attune
