// SPDX-License-Identifier: MIT
#include "formats/csv/table.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "formats/csv/family_of_file.h"
#include "formats/csv/key_cells.h"
#include "formats/csv/table_columns.h"

namespace attune {
namespace {

/// Counts one kind of irregularity and keeps its first position, such as `t.csv:17`.
struct CountedNotice {
  size_t count = 0;
  std::string first;
  void note(const CsvDocument& document, size_t row) {
    if (count++ == 0) first = document.where(row);
  }
};

/// Reads the rows of one document.
class RowReader {
 public:
  RowReader(const CsvDocument& document, const FamilySpec& family, size_t file)
      : document_(document), family_(family), keys_(document, family, Strictness::table), file_(file) {
    for (const TableColumn& column : table_columns()) {
      auto place = document.find_column(column.name);
      if (!place && !column.other_name.empty()) place = document.find_column(column.other_name);
      places_.push_back(place);
    }
  }

  TableRow read(size_t row) {
    document_.check_cells(row);
    TableRow result{file_, row, document_.line(row), keys_.problem(row)};
    try {
      for (size_t i = 0; i < places_.size(); ++i) {
        const TableColumn& column = table_columns()[i];
        if (column.read != nullptr) column.read(places_[i] ? document_.cell(row, *places_[i]) : "", result);
      }
      for (size_t i = 0; i < document_.columns().size() && !family_.parts.empty(); ++i)
        read_part_cell(family_, document_.columns()[i], document_.cell(row, i), result);
    } catch (Error& error) {
      error.add_context(document_.where(row));
      throw;
    }
    if (result.gfx.empty()) {
      result.gfx = gfx_of_units(result.num_units);
      without_gfx.note(document_, row);
    }
    if (result.device.empty()) without_device.note(document_, row);
    if (!result.us) without_time.note(document_, row);
    return result;
  }

  CountedNotice without_time, without_gfx, without_device;

 private:
  const CsvDocument& document_;
  const FamilySpec& family_;
  KeyCells keys_;
  size_t file_;
  std::vector<std::optional<size_t>> places_;  ///< Places of table_columns().
};

std::string without_place(std::string_view sentence, const std::string& place) {
  const std::string prefix = place + ": ";
  return std::string(sentence.starts_with(prefix) ? sentence.substr(prefix.size()) : sentence);
}

void check_is_tuned(const CsvDocument& document) {
  if (document.find_column("us")) return;
  fail(ErrorCode::invalid_input,
       "{}:1: the file has no column 'us', so it is not a tuned table but a list of shapes; name a tuned table",
       document.name());
}

std::string index_text(const FamilySpec& family, const Problem& problem, std::string_view gfx, int64_t num_units) {
  return fmt::format("{} {} {}", gfx, num_units, key_text(family, problem));
}

}  // namespace

std::string_view gfx_of_units(int64_t num_units) noexcept {
  if (num_units == 256) return "gfx950";
  if (num_units == 80 || num_units == 304) return "gfx942";
  return {};
}

std::vector<std::filesystem::path> split_table_paths(std::string_view paths) {
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::path(paths), ignored)) return {std::filesystem::path(paths)};
  std::vector<std::filesystem::path> files;
  for (const auto piece : split(paths, ':')) {
    if (!piece.empty()) files.emplace_back(piece);
  }
  for (size_t i = 1; i < files.size(); ++i) {  // the first table may not exist yet
    if (!std::filesystem::exists(files[i], ignored))
      fail(ErrorCode::invalid_input,
           "there is no such table; colons separate tables, so a file with one in its name must exist before it is "
           "named: '{}' of '{}'",
           files[i].string(), paths);
  }
  if (files.empty()) fail(ErrorCode::invalid_input, "the list of tables names no file: '{}'", paths);
  return files;
}

Table Table::read(std::string_view paths, const FamilySpec* family, WrongRows wrong) {
  std::vector<CsvDocument> documents;
  for (const auto& path : split_table_paths(paths)) documents.push_back(CsvDocument::read(path));
  Table table = of(std::move(documents), family, wrong);
  for (const CsvDocument& document : table.documents()) check_is_tuned(document);
  return table;
}

Table Table::of(std::vector<CsvDocument> read, const FamilySpec* family, WrongRows wrong) {
  Table table;
  const auto documents = std::make_shared<const std::vector<CsvDocument>>(std::move(read));
  if (!family) {
    auto found = family_of_file(documents->front());
    family = found.family;
    table.notices_ = std::move(found.notices);
  }
  table.family_ = family;
  table.documents_ = documents;

  for (size_t file = 0; file < documents->size(); ++file) {
    const CsvDocument& document = (*documents)[file];
    RowReader reader(document, *family, file);
    CountedNotice repeated;
    SkippedRows& skipped = table.skipped_.emplace_back();
    std::set<std::string> seen;
    for (size_t row = 0; row < document.num_rows(); ++row) {
      try {
        table.rows_.push_back(reader.read(row));
      } catch (const Error& error) {
        if (wrong == WrongRows::refused) throw;
        if (skipped.count++ == 0) skipped.why_first = error.what();
        if (wrong == WrongRows::listed)
          table.unreadable_.push_back({file, row, without_place(error.what(), document.where(row))});
        continue;
      }
      const TableRow& last = table.rows_.back();
      auto key = index_text(*family, last.problem, last.gfx, last.num_units);
      if (last.tag.empty() && !seen.insert(fmt::format("{} {} {}", key, last.device, text(last.require))).second)
        repeated.note(document, row);
      table.index_[std::move(key)].push_back(table.rows_.size() - 1);
    }
    const auto say = [&](const CountedNotice& notice, std::string_view what, std::string_view so) {
      if (notice.count > 0)
        table.notices_.push_back(fmt::format("{}: {} {}: {}; the first is {}", document.name(),
                                             counted(notice.count, "row"), what, so, notice.first));
    };
    say(reader.without_time, "without a usable time", "never used");
    say(repeated, "with the key of another row", "the lowest time wins");
    say(reader.without_gfx, "without gfx", "looked up by cu_num (256: gfx950; 80, 304: gfx942)");
    say(reader.without_device, "without a device model", "looked up by gfx and cu_num");
  }
  return table;
}

std::string_view Table::cell(const TableRow& row, std::string_view column) const {
  const CsvDocument& document = documents()[row.file];
  const auto index = document.find_column(column);
  return index ? document.cell(row.row, *index) : std::string_view();
}

std::vector<const TableRow*> Table::all(const Problem& problem, std::string_view gfx, int64_t num_units) const {
  std::vector<const TableRow*> found;
  const auto entry = index_.find(index_text(*family_, problem, gfx, num_units));
  if (entry == index_.end()) return found;
  for (const size_t index : entry->second) found.push_back(&rows_[index]);
  return found;
}

const TableRow* Table::find(const Problem& problem, std::string_view gfx, int64_t num_units, std::string_view model,
                            Requirement required) const {
  const TableRow* best = nullptr;
  for (const TableRow* row : all(problem, gfx, num_units)) {
    if (!row->us || !row->tag.empty() || !is_of_model(row->device, model) || !meets(row->require, required)) continue;
    if (!best || row->rank(required) < best->rank(required)) best = row;
  }
  return best;
}

}  // namespace attune
