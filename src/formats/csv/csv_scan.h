// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/csv/csv_document.h"

namespace attune {

/// Reads the rows of a CSV one after another, for files of a million rows: it holds the file's bytes once, and no
/// cells. It accepts and refuses the same files as CsvDocument, with the same messages; a file with quotation marks or
/// anything else that is not plain is read by CsvDocument as a whole.
class CsvScan {
 public:
  /// Reads the file. Throws what CsvDocument::read() throws.
  explicit CsvScan(const std::filesystem::path& path);
  /// Like the above, for text in memory; `name` is used in messages. `first_line`: see CsvDocument::parse().
  CsvScan(std::string content, std::string name, size_t first_line = 1);

  /// The header row.
  const CsvDocument& head() const noexcept { return head_; }
  /// Goes to the next row; false if there is none. Invalidates the cells of the last row.
  bool next();
  size_t line() const noexcept { return line_; }  ///< Counted from 1.
  size_t num_cells() const noexcept { return cells_.size(); }
  /// Trimmed; empty if the row is shorter.
  std::string_view cell(size_t column) const noexcept {
    return column < cells_.size() ? cells_[column] : std::string_view();
  }

 private:
  bool next_plain();

  std::string content_;
  CsvDocument head_;
  std::optional<CsvDocument> whole_;  ///< Used for a file that is not plain.
  size_t at_ = 0, next_row_ = 0, next_line_, line_;
  std::vector<std::string_view> cells_;
};

}  // namespace attune
