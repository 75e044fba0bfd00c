// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/csv/csv_document.h"

namespace attune {

/// The rows of a CSV one after the other, for files of a million rows: the file's bytes are held once and nothing of
/// its cells. Reads what CsvDocument reads and refuses what it refuses, with the same messages; a file with quotation
/// marks, or anything else that is not plain, is left to CsvDocument altogether.
class CsvScan {
 public:
  /// Reads the file. Throws as CsvDocument::read().
  explicit CsvScan(const std::filesystem::path& path);
  /// The same for text in memory; `name` stands in messages.
  CsvScan(std::string content, std::string name);

  /// Of the header row.
  const CsvDocument& head() const noexcept { return head_; }
  /// Goes to the next row; false: there is none. Cells of the last row are void.
  bool next();
  size_t line() const noexcept { return line_; }  ///< Counted from 1.
  size_t num_cells() const noexcept { return cells_.size(); }
  /// Trimmed; empty when the row is shorter than that.
  std::string_view cell(size_t column) const noexcept {
    return column < cells_.size() ? cells_[column] : std::string_view();
  }

 private:
  bool next_plain();

  std::string content_;
  CsvDocument head_;
  std::optional<CsvDocument> whole_;  ///< For what is not plain.
  size_t at_ = 0, next_row_ = 0, next_line_ = 2, line_ = 1;
  std::vector<std::string_view> cells_;
};

}  // namespace attune
