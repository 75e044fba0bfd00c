// SPDX-License-Identifier: MIT
#include "dispatch/row_index.h"

#include <fmt/format.h>

#include <bit>
#include <limits>
#include <map>

#include "attune/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "formats/csv/csv_scan.h"
#include "formats/csv/table.h"

namespace attune {
namespace {

constexpr size_t kFewest = 16;
constexpr uint64_t kMostNameBytes = std::numeric_limits<uint32_t>::max();

/// Counts one kind of oddity of a file and remembers where it was met first.
struct Oddity {
  size_t count = 0, first = 0;
  void note(size_t line) {
    if (count++ == 0) first = line;
  }
};

/// A column whose cells are mostly the same few: the last cell's code is kept.
struct CodedColumn {
  std::optional<size_t> column;
  std::string last;
  int64_t code = 0;
  bool known = false;
};

}  // namespace

/// Fills an index from files, in their order.
class RowIndexBuilder {
 public:
  RowIndexBuilder(RowIndex& index, const KeyCodes& codes, const DeviceInfo& device)
      : index_(index), codes_(codes), device_(device) {}

  void add_file(uint16_t file) {
    const std::string path = index_.files_[file].file.string();
    try {
      CsvScan scan(index_.files_[file].file);
      begin_file(scan);
      while (scan.next()) add_row(scan, file);
    } catch (const Error& error) {
      index_.notices_.push_back(fmt::format("a table is left out: {}", error.what()));
    }
    say(path, repeated_, "with the key of another", "the lowest time wins");
    say(path, wrong_, "that cannot be read", "left out");
    repeated_ = wrong_ = {};
  }

  void finish() {
    index_.rows_.shrink_to_fit();
    index_.names_.shrink_to_fit();
    index_.name_ends_.shrink_to_fit();
  }

 private:
  void begin_file(const CsvScan& scan) {
    const CsvDocument& head = scan.head();
    keys_.clear();
    for (const KeyColumn& key : codes_.family().key) {
      keys_.push_back({key.otherwise.empty() ? head.require_column(key.column) : head.find_column(key.column)});
    }
    gfx_ = head.find_column("gfx");
    units_ = head.find_column("cu_num");
    us_ = head.find_column("us");
    name_ = head.find_column("kernelName");
    model_ = head.find_column("device");
    tag_ = head.find_column("_tag");
    layout_ = {head.find_column("layout")};
  }

  static std::string_view cell(const CsvScan& scan, std::optional<size_t> column) {
    return column ? scan.cell(*column) : std::string_view();
  }

  /// Whether the row is one of this device.
  bool is_ours(const CsvScan& scan) const {
    const auto units = parse_int(cell(scan, units_));
    if (units.value_or(0) != device_.num_units) return false;
    std::string_view gfx = cell(scan, gfx_);
    if (gfx.empty()) gfx = gfx_of_units(device_.num_units);
    if (gfx != device_.gfx || !cell(scan, tag_).empty()) return false;
    const std::string_view model = cell(scan, model_);
    return model.empty() || device_.model.empty() || model == device_.model;
  }

  /// Codes of the key columns; false: a cell is none of its column.
  bool read_codes(const CsvScan& scan, KeyCodes::Codes& codes) {
    for (size_t i = 0; i < keys_.size(); ++i) {
      CodedColumn& column = keys_[i];
      const std::string_view text = cell(scan, column.column);
      if (text.empty()) {
        if (codes_.family().key[i].otherwise.empty()) return false;
        codes[i] = codes_.code_of_none(i, codes);
        continue;
      }
      if (!column.known || column.last != text) {
        const auto code = codes_.code(i, text);
        if (!code) return false;
        column = {column.column, std::string(text), *code, true};
      }
      codes[i] = column.code;
    }
    return true;
  }

  int64_t layout_of(const CsvScan& scan) {
    const std::string_view text = cell(scan, layout_.column);
    if (!layout_.known || layout_.last != text)
      layout_ = {layout_.column, std::string(text), KeyCodes::layout_code(text), true};
    return layout_.code;
  }

  void add_row(const CsvScan& scan, uint16_t file) {
    if (!is_ours(scan)) return;
    const auto us = usable_time(cell(scan, us_));
    if (!us) return;
    KeyCodes::Codes codes{};
    const std::string_view kernel = cell(scan, name_);
    if (!read_codes(scan, codes) || index_.names_.size() + kernel.size() > kMostNameBytes)
      return wrong_.note(scan.line());
    RowIndex::Row row{codes_.hash(codes, layout_of(scan)),
                      codes_.m_column() ? codes[*codes_.m_column()] : 0,
                      static_cast<uint32_t>(scan.line()),
                      0,
                      static_cast<float>(*us),
                      file};
    if (2 * (index_.rows_.size() + 1) > index_.places_.size()) index_.grow();
    RowIndex::Place& place = index_.places_[index_.place_of(row.key)];
    if (place.row == 0) {
      row.name = name_of(kernel);
      index_.rows_.push_back(row);
      place = {static_cast<uint32_t>(row.key.high), static_cast<uint32_t>(index_.rows_.size())};
      return;
    }
    RowIndex::Row& there = index_.rows_[place.row - 1];
    if (there.file != file) return;
    repeated_.note(scan.line());
    if (row.us >= there.us) return;
    row.name = name_of(kernel);
    there = row;
  }

  /// Most kernels serve many rows.
  uint32_t name_of(std::string_view kernel) {
    const auto [entry, fresh] =
        names_.try_emplace(hash128(kernel), static_cast<uint32_t>(index_.name_ends_.size() - 1));
    if (fresh) {
      index_.names_ += kernel;
      index_.name_ends_.push_back(static_cast<uint32_t>(index_.names_.size()));
    }
    return entry->second;
  }

  void say(const std::string& path, const Oddity& oddity, std::string_view what, std::string_view so) {
    if (oddity.count == 0) return;
    index_.notices_.push_back(fmt::format("{}: {} {}: {}; the first is in line {}", path, counted(oddity.count, "row"),
                                          what, so, oddity.first));
  }

  RowIndex& index_;
  const KeyCodes& codes_;
  const DeviceInfo& device_;
  std::map<Hash128, uint32_t> names_;
  std::vector<CodedColumn> keys_;
  CodedColumn layout_;
  std::optional<size_t> gfx_, units_, us_, name_, model_, tag_;
  Oddity repeated_, wrong_;
};

RowIndex::RowIndex(const KeyCodes& codes, std::vector<TableSource> files, const DeviceInfo& device)
    : places_(kFewest), files_(std::move(files)) {
  RowIndexBuilder builder(*this, codes, device);
  for (size_t file = 0; file < files_.size(); ++file) builder.add_file(static_cast<uint16_t>(file));
  builder.finish();
}

/// Of the key, or the free one where it would be.
size_t RowIndex::place_of(const ProblemKey& key) const noexcept {
  const size_t mask = places_.size() - 1;
  for (size_t at = key.low & mask;; at = (at + 1) & mask) {
    const Place& place = places_[at];
    if (place.row == 0) return at;
    if (place.print == static_cast<uint32_t>(key.high) && rows_[place.row - 1].key == key) return at;
  }
}

void RowIndex::grow() {
  places_.assign(2 * places_.size(), {});
  for (size_t i = 0; i < rows_.size(); ++i)
    places_[place_of(rows_[i].key)] = {static_cast<uint32_t>(rows_[i].key.high), static_cast<uint32_t>(i + 1)};
}

const RowIndex::Row* RowIndex::find(const ProblemKey& key) const noexcept {
  const Place& place = places_[place_of(key)];
  return place.row == 0 ? nullptr : &rows_[place.row - 1];
}

std::string RowIndex::where(const Row& row) const {
  return fmt::format("{}:{}", files_[row.file].file.string(), row.line);
}

uint64_t RowIndex::num_bytes() const noexcept {
  return rows_.capacity() * sizeof(Row) + places_.capacity() * sizeof(Place) + names_.capacity() +
         name_ends_.capacity() * sizeof(uint32_t);
}

}  // namespace attune
