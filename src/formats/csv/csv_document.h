// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

/// Bounds of a file that is read as a table; it is held in memory as a whole.
inline constexpr size_t kMaxCsvLineBytes = 64 * 1024;  ///< Length of a record, quoted line ends included.
inline constexpr size_t kMaxCsvColumns = 4096;
inline constexpr uint64_t kMaxCsvFileBytes = 256ull << 20;

/// Any CSV with a header row: the cells of its rows, and the bytes that they came from, so that unchanged rows can be
/// written back byte for byte. head() + raw(0) + … + raw(num_rows() - 1) is the file. A byte order mark, CRLF, quotes,
/// blanks and tabs around cells, empty lines and a missing last line end are accepted and kept. Errors are
/// invalid_input and read `shapes.csv:17: …`.
class CsvDocument {
 public:
  /// Streams the file and stops at the first line that exceeds the bounds, is not UTF-8, or contains control
  /// characters.
  static CsvDocument read(const std::filesystem::path& path);
  /// Like read(), for text in memory; `name` is used in messages. `first_line`: the header's number; 0 where a program
  /// put it before the lines of another file.
  static CsvDocument parse(std::string_view content, std::string name, size_t first_line = 1);

  const std::string& name() const noexcept { return name_; }
  size_t first_line() const noexcept { return first_line_; }  ///< The header's, see parse().
  std::string header_place() const;                           ///< `shapes.csv:1`, for messages.
  const std::vector<std::string>& columns() const noexcept { return columns_; }
  /// Finds a column by exact spelling, then ignoring case.
  std::optional<size_t> find_column(std::string_view column) const;
  size_t require_column(std::string_view column) const;  ///< Throws with the list of columns and the missing one.
  std::string column_list() const;                       ///< `M, N, K`, shortened when long.

  size_t num_rows() const noexcept { return rows_.size(); }
  /// Trimmed; empty if the row is shorter than the header.
  std::string_view cell(size_t row, size_t column) const;
  size_t num_cells(size_t row) const;
  void check_cells(size_t row) const;                        ///< Throws if the row has more cells than the header.
  size_t line(size_t row) const { return rows_[row].line; }  ///< Counted from 1.
  std::string where(size_t row) const;                       ///< `shapes.csv:17`

  std::string_view content() const noexcept { return content_; }  ///< The bytes that were read.
  std::string_view head() const noexcept;                         ///< Byte order mark and header row with its line end.
  std::string_view raw(size_t row) const noexcept;  ///< With its line end and the empty lines that follow it.
  std::string_view header_text() const noexcept;    ///< head() up to the line end.
  std::string_view line_end() const noexcept { return crlf_ ? "\r\n" : "\n"; }

 private:
  friend class CsvBuilder;
  // A file has fewer than 2^32 bytes (kMaxCsvFileBytes).
  struct Row {
    uint32_t begin = 0;  ///< Offset in content_.
    uint32_t line = 0;
    uint32_t first_cell = 0;         ///< Index in cell_ends_.
    uint32_t unquoted = kInContent;  ///< Where its cells begin in unquoted_; kInContent: they are those in content_.
  };
  static constexpr uint32_t kInContent = UINT32_MAX;
  std::string name_, content_;
  std::string unquoted_;  ///< Cells of the rows that have a quotation mark, without it.
  std::vector<std::string> columns_;
  std::vector<uint32_t> cell_ends_;  ///< Ends of the cells of all rows, each in the text of its row's cells.
  std::vector<Row> rows_;
  size_t header_end_ = 0, first_line_ = 1;
  bool crlf_ = false;
};

/// Returns why a row with more cells than the header has columns is refused.
std::string surplus_cells_error(size_t num_cells, size_t num_columns);

/// Returns a cell as written to a file: quoted if necessary.
std::string csv_cell(std::string_view text);

/// Whether a file of shapes or results is YAML and no CSV, by the extension of its name.
bool is_yaml(std::string_view file) noexcept;

}  // namespace attune
