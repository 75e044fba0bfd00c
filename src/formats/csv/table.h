// SPDX-License-Identifier: MIT
#pragma once
#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem.h"
#include "base/error.h"
#include "formats/csv/csv_document.h"
#include "formats/csv/table_row.h"
#include "ops/family.h"

namespace attune {

/// Treatment of unreadable rows: the table is refused, or the row is skipped, as at run time, or skipped and listed.
enum class WrongRows : uint8_t { refused, skipped, listed };

/// The place of a row.
struct RowPlace {
  uint32_t file = 0, row = 0;  ///< Index of the document, and of the row in the document.
  auto operator<=>(const RowPlace&) const = default;
};

class RowReader;
class Table;

/// Reads the rows of one or several tuned tables one after another and keeps none, for files of many rows: it needs
/// little more memory than the files have bytes. Copies share the documents. Throws what Table throws.
class TableStream {
 public:
  /// As Table::read() and Table::of() take them.
  static TableStream open(std::string_view paths, const FamilySpec* family = nullptr);
  explicit TableStream(std::vector<CsvDocument> documents, const FamilySpec* family = nullptr);
  /// Reads the documents of a table again, its unreadable rows included.
  TableStream(const Table& table);  // NOLINT(google-explicit-constructor): a table is read wherever a file is.

  const FamilySpec& family() const noexcept { return *family_; }
  std::span<const CsvDocument> documents() const noexcept { return *documents_; }
  /// Throws invalid_input with file and line for an unreadable row.
  TableRow read(RowPlace place) const;

  using TakeRow = std::function<void(RowPlace place, TableRow row)>;
  using TakeUnreadable = std::function<void(RowPlace place, const Error& error)>;
  /// Reads all rows in the order of the files. Without `unreadable`, the error of an unreadable row is thrown. Returns
  /// what Table::notices() returns.
  std::vector<std::string> for_each(const TakeRow& take, const TakeUnreadable& unreadable = {}) const;

 private:
  friend class Table;
  TableStream(std::shared_ptr<const std::vector<CsvDocument>> documents, const FamilySpec* family);

  const FamilySpec* family_ = nullptr;
  std::vector<std::string> family_notices_;
  std::shared_ptr<const std::vector<CsvDocument>> documents_;
  std::shared_ptr<const std::vector<RowReader>> readers_;  ///< One for each document.
};

/// A tuned table, or several merged. A value type; rows are in the order of the files.
class Table {
 public:
  /// Reads `paths` (`a.csv:b.csv`; all of one family). Without `family`, family_of_file() of the first file decides.
  /// Throws invalid_input with file and line, also for a list of shapes, which has no column us.
  static Table read(std::string_view paths, const FamilySpec* family = nullptr, WrongRows wrong = WrongRows::refused);
  /// Like read(), for documents in memory; at least one.
  static Table of(std::vector<CsvDocument> documents, const FamilySpec* family = nullptr,
                  WrongRows wrong = WrongRows::refused);
  /// Some rows of a table, which are readable, in this order; they share its documents. Without notices.
  static Table of(const TableStream& reader, std::span<const RowPlace> rows);

  const FamilySpec& family() const noexcept { return *family_; }
  std::span<const TableRow> rows() const noexcept { return rows_; }
  std::span<const CsvDocument> documents() const noexcept { return *documents_; }
  /// Unusable times, duplicates, derived architectures, rows without a model: counts with the first line of each.
  const std::vector<std::string>& notices() const noexcept { return notices_; }
  /// Unreadable rows of one document, which were skipped.
  struct SkippedRows {
    size_t count = 0;
    std::string why_first;  ///< Error with file and line.
  };
  std::span<const SkippedRows> skipped() const noexcept { return skipped_; }
  /// An unreadable row, by its place in the document (WrongRows::listed).
  struct UnreadableRow {
    size_t file = 0, row = 0;
    std::string why;  ///< Without the place.
  };
  std::span<const UnreadableRow> unreadable() const noexcept { return unreadable_; }
  std::string_view cell(const TableRow& row, std::string_view column) const;
  std::string_view raw(const TableRow& row) const { return documents()[row.file].raw(row.row); }

  /// Returns the row that a device takes by the rule of RowRank, of all layouts: one with a usable time, without
  /// `_tag`, of this `model`, and of those that state what is required. Attributes missing in the problem have their
  /// defaults. O(log n).
  const TableRow* find(const Problem& problem, std::string_view gfx, int64_t num_units, std::string_view model = {},
                       Requirement required = Requirement::none) const;
  /// Returns all rows of the key and device in file order: with any tag and model, also without a usable time, and
  /// whatever they state.
  std::vector<const TableRow*> all(const Problem& problem, std::string_view gfx, int64_t num_units) const;

 private:
  friend class TableStream;
  void add(TableRow row);

  const FamilySpec* family_ = nullptr;
  std::shared_ptr<const std::vector<CsvDocument>> documents_;
  std::vector<TableRow> rows_;
  std::vector<std::string> notices_;
  std::vector<SkippedRows> skipped_;
  std::vector<UnreadableRow> unreadable_;
  std::map<std::string, std::vector<size_t>, std::less<>> index_;
};

/// Architecture for a unit count, for tables older than the column gfx (ROCm/aiter, gfx_from_cu_num); empty if unknown.
std::string_view gfx_of_units(int64_t num_units) noexcept;

/// Removes the place, such as `t.csv:17`, from the beginning of an error's sentence.
std::string without_place(std::string_view sentence, const std::string& place);

/// Splits `a.csv:b.csv` into its files; a path that exists as a whole is one file. Throws invalid_input if any but the
/// first does not exist.
std::vector<std::filesystem::path> split_table_paths(std::string_view paths);

}  // namespace attune
