// SPDX-License-Identifier: MIT
#include "formats/csv/table.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
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

/// The irregular rows of one document, and those whose key, model and requirement an earlier row has.
class Irregularities {
 public:
  explicit Irregularities(const CsvDocument& document) : document_(document) {}

  void note(const FamilySpec& family, const TableRow& row, bool has_gfx) {
    if (!has_gfx) without_gfx_.note(document_, row.row);
    if (row.device.empty()) without_device_.note(document_, row.row);
    if (!row.us) without_time_.note(document_, row.row);
    if (row.tag.empty()) keys_.emplace_back(hash128(identity(family, row)), static_cast<uint32_t>(row.row));
  }

  void take(std::vector<std::string>& notices) {
    const auto say = [&](const CountedNotice& notice, std::string_view what, std::string_view so) {
      if (notice.count > 0)
        notices.push_back(fmt::format("{}: {} {}: {}; the first is {}", document_.name(), counted(notice.count, "row"),
                                      what, so, notice.first));
    };
    say(without_time_, "without a usable time", "never used");
    say(repeated(), "with the key of another row", "the lowest time wins");
    say(without_gfx_, "without gfx", "looked up by cu_num (256: gfx950; 80, 304: gfx942)");
    say(without_device_, "without a device model", "looked up by gfx and cu_num");
  }

 private:
  static std::string identity(const FamilySpec& family, const TableRow& row) {
    return fmt::format("{} {} {} {} {}", row.gfx, row.num_units, key_text(family, row.problem), row.device,
                       text(row.require));
  }

  CountedNotice repeated() {
    std::sort(keys_.begin(), keys_.end());
    CountedNotice notice;
    uint32_t first = UINT32_MAX;
    for (size_t i = 1; i < keys_.size(); ++i) {
      if (keys_[i].first != keys_[i - 1].first) continue;
      ++notice.count;
      first = std::min(first, keys_[i].second);
    }
    if (notice.count > 0) notice.first = document_.where(first);
    return notice;
  }

  const CsvDocument& document_;
  CountedNotice without_time_, without_gfx_, without_device_;
  std::vector<std::pair<Hash128, uint32_t>> keys_;
};

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

/// Reads the rows of one document. Thread-safe.
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

  /// `has_gfx`: whether the row names its architecture.
  TableRow read(size_t row, bool& has_gfx) const {
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
    has_gfx = !result.gfx.empty();
    if (!has_gfx) result.gfx = gfx_of_units(result.num_units);
    // A missing 8-bit type means the fp8 of the row's architecture.
    const auto is_left_out = [&](const AttributeSpec& key) {
      return key.is_device_fp8 && !result.problem.has(key.name);
    };
    if (std::ranges::any_of(family_.key, is_left_out)) result.problem = keys_.problem(row, result.gfx);
    return result;
  }

 private:
  const CsvDocument& document_;
  const FamilySpec& family_;
  KeyCells keys_;
  size_t file_;
  std::vector<std::optional<size_t>> places_;  ///< Places of table_columns().
};

std::string_view gfx_of_units(int64_t num_units) noexcept {
  if (num_units == 256) return "gfx950";
  if (num_units == 80 || num_units == 304) return "gfx942";
  return {};
}

std::string without_place(std::string_view sentence, const std::string& place) {
  const std::string prefix = place + ": ";
  return std::string(sentence.starts_with(prefix) ? sentence.substr(prefix.size()) : sentence);
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

TableStream TableStream::open(std::string_view paths, const FamilySpec* family) {
  std::vector<CsvDocument> documents;
  for (const auto& path : split_table_paths(paths)) documents.push_back(CsvDocument::read(path));
  TableStream reader(std::move(documents), family);
  for (const CsvDocument& document : reader.documents()) check_is_tuned(document);
  return reader;
}

TableStream::TableStream(std::vector<CsvDocument> documents, const FamilySpec* family)
    : TableStream(std::make_shared<const std::vector<CsvDocument>>(std::move(documents)), family) {}

TableStream::TableStream(const Table& table) : TableStream(table.documents_, table.family_) {}

TableStream::TableStream(std::shared_ptr<const std::vector<CsvDocument>> documents, const FamilySpec* family)
    : family_(family), documents_(std::move(documents)) {
  if (family_ == nullptr) {
    auto found = family_of_file(documents_->front());
    family_ = found.family;
    family_notices_ = std::move(found.notices);
  }
  std::vector<RowReader> readers;
  for (size_t file = 0; file < documents_->size(); ++file) readers.emplace_back((*documents_)[file], *family_, file);
  readers_ = std::make_shared<const std::vector<RowReader>>(std::move(readers));
}

TableRow TableStream::read(RowPlace place) const {
  bool has_gfx = false;
  return (*readers_)[place.file].read(place.row, has_gfx);
}

std::vector<std::string> TableStream::for_each(const TakeRow& take, const TakeUnreadable& unreadable) const {
  std::vector<std::string> notices = family_notices_;
  for (uint32_t file = 0; file < documents_->size(); ++file) {
    const CsvDocument& document = (*documents_)[file];
    Irregularities irregular(document);
    for (uint32_t row = 0; row < document.num_rows(); ++row) {
      bool has_gfx = false;
      TableRow read;
      try {
        read = (*readers_)[file].read(row, has_gfx);
      } catch (const Error& error) {
        if (!unreadable) throw;
        unreadable({file, row}, error);
        continue;
      }
      irregular.note(*family_, read, has_gfx);
      take({file, row}, std::move(read));
    }
    irregular.take(notices);
  }
  return notices;
}

Table Table::read(std::string_view paths, const FamilySpec* family, WrongRows wrong) {
  std::vector<CsvDocument> documents;
  for (const auto& path : split_table_paths(paths)) documents.push_back(CsvDocument::read(path));
  Table table = of(std::move(documents), family, wrong);
  for (const CsvDocument& document : table.documents()) check_is_tuned(document);
  return table;
}

Table Table::of(std::vector<CsvDocument> documents, const FamilySpec* family, WrongRows wrong) {
  const TableStream reader(std::move(documents), family);
  Table table = of(reader, {});
  table.skipped_.resize(reader.documents().size());
  const auto skip = [&](RowPlace place, const Error& error) {
    SkippedRows& skipped = table.skipped_[place.file];
    if (skipped.count++ == 0) skipped.why_first = error.what();
    if (wrong == WrongRows::listed)
      table.unreadable_.push_back(
          {place.file, place.row, without_place(error.what(), reader.documents()[place.file].where(place.row))});
  };
  table.notices_ = reader.for_each([&](RowPlace, TableRow row) { table.add(std::move(row)); },
                                   wrong == WrongRows::refused ? TableStream::TakeUnreadable() : skip);
  return table;
}

Table Table::of(const TableStream& reader, std::span<const RowPlace> rows) {
  Table table;
  table.family_ = reader.family_;
  table.documents_ = reader.documents_;
  for (const RowPlace place : rows) table.add(reader.read(place));
  return table;
}

void Table::add(TableRow row) {
  index_[index_text(*family_, row.problem, row.gfx, row.num_units)].push_back(rows_.size());
  rows_.push_back(std::move(row));
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
