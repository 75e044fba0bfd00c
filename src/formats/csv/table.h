// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem.h"
#include "formats/csv/csv_document.h"
#include "ops/family.h"

namespace attune {

/// One row of a tuned table.
struct TableRow {
  size_t file = 0, row = 0;  ///< Which document of the table, which row of it.
  size_t line = 0;
  Problem problem;                  ///< Of the key columns; not normalised. A dtype that is not known stays as text.
  std::string gfx;                  ///< Filled in from cu_num where an old file has no gfx column; may be empty.
  int64_t num_units = 0;            ///< `cu_num`; 0 when the file has none.
  std::string device, layout, tag;  ///< Model; layout name; `_tag`. Empty when the file has none.
  std::string kernel_name, libtype;
  std::optional<double> us;  ///< Nothing for a time that is zero, negative, not finite, or no number.
  std::optional<double> err_ratio, tflops, bw;
};

/// What becomes of a table with a row that cannot be read: it is refused, or the row is left out, as the run time does.
enum class WrongRows : uint8_t { refused, left_out };

/// A tuned table, or several merged. A value; rows in the order of the files.
class Table {
 public:
  /// Reads `paths` (`a.csv:b.csv`; all of one family). Throws invalid_input with file and line.
  /// Without `family` it is found by family_of_file() for the first file.
  static Table read(std::string_view paths, const FamilySpec* family = nullptr);
  /// The same for documents in memory; at least one.
  static Table of(std::vector<CsvDocument> documents, const FamilySpec* family = nullptr,
                  WrongRows wrong = WrongRows::refused);

  const FamilySpec& family() const noexcept { return *family_; }
  std::span<const TableRow> rows() const noexcept { return rows_; }
  std::span<const CsvDocument> documents() const noexcept { return *documents_; }
  /// Unusable times, duplicates, filled-in architectures, rows of no model: counts with the first line of each.
  const std::vector<std::string>& notices() const noexcept { return notices_; }
  /// By document: rows that cannot be read (WrongRows::left_out).
  struct LeftOut {
    size_t count = 0;
    std::string why_first;  ///< With file and line.
  };
  std::span<const LeftOut> left_out() const noexcept { return left_out_; }
  std::string_view cell(const TableRow& row, std::string_view column) const;
  std::string_view raw(const TableRow& row) const { return documents()[row.file].raw(row.row); }

  /// The row a lookup gets: of the first file that has the key on this device, the lowest usable time without `_tag`.
  /// `model` is compared with rows that name one. Attributes that the problem leaves out are at their defaults. O(log
  /// n).
  const TableRow* find(const Problem& problem, std::string_view gfx, int64_t num_units,
                       std::string_view model = {}) const;
  /// All rows of the key and device in file order: any tag and model, without a usable time too.
  std::vector<const TableRow*> all(const Problem& problem, std::string_view gfx, int64_t num_units) const;

 private:
  const FamilySpec* family_ = nullptr;
  std::shared_ptr<const std::vector<CsvDocument>> documents_;
  std::vector<TableRow> rows_;
  std::vector<std::string> notices_;
  std::vector<LeftOut> left_out_;
  std::map<std::string, std::vector<size_t>, std::less<>> index_;
};

/// Architectures of the unit counts in tables from before the column gfx (ROCm/aiter, gfx_from_cu_num); empty if none.
std::string_view gfx_of_units(int64_t num_units) noexcept;
/// A cell of the column us. Nothing for a time that is zero, negative, not finite, absurd (below 1e-9, above 1e18), or
/// no number: such a row never wins.
std::optional<double> usable_time(std::string_view cell) noexcept;

/// `a.csv:b.csv` → its files; a path that exists as a whole is one. Throws invalid_input when one but the first does
/// not exist.
std::vector<std::filesystem::path> split_table_paths(std::string_view paths);

}  // namespace attune
