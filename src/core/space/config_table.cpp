// SPDX-License-Identifier: MIT
#include "core/space/config_table.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "base/error.h"

namespace attune {
namespace {

constexpr uint64_t kFirstHash = 0xcbf29ce484222325;

/// The step of FNV-1a, a code at a time, with its high bits folded so that short rows spread too.
uint64_t hash_with(uint64_t hash, uint32_t code) {
  hash = (hash ^ code) * 0x100000001b3;
  return hash ^ (hash >> 29);
}

std::vector<uint64_t> hashes_of(uint64_t num_rows, std::span<const ConfigTable::Column> columns) {
  std::vector<uint64_t> hashes(num_rows, kFirstHash);
  for (const auto& column : columns) {
    for (uint64_t row = 0; row < num_rows; ++row) hashes[row] = hash_with(hashes[row], column.codes[row]);
  }
  return hashes;
}

void check_column(const ConfigTable::Column& column, uint64_t num_rows) {
  std::set<Value> seen;
  for (const Value& value : column.values) {
    const Config readable({{column.name, value}});  // Throws for what no key can hold.
    if (!seen.insert(value).second)
      fail(ErrorCode::invalid_input, "an attribute must list each value once, got {} again", readable.key());
  }
  if (column.codes.size() != num_rows)
    fail(ErrorCode::invalid_input, "an attribute must have a code for each of the {} rows, got {} for '{}'", num_rows,
         column.codes.size(), column.name);
  const auto wrong = std::ranges::find_if(column.codes, [&](uint32_t code) { return code > column.values.size(); });
  if (wrong != column.codes.end())
    fail(ErrorCode::invalid_input, "a code must name one of the {} values of '{}', got {}", column.values.size(),
         column.name, *wrong);
}

/// Orders the values as the rows first name them, and drops those of no row.
void renumber(ConfigTable::Column& column) {
  std::vector<uint32_t> fresh(column.values.size() + 1, 0);
  std::vector<Value> values;
  for (uint32_t& code : column.codes) {
    if (code != 0 && fresh[code] == 0) {
      values.push_back(std::move(column.values[code - 1]));
      fresh[code] = static_cast<uint32_t>(values.size());
    }
    code = fresh[code];
  }
  column.values = std::move(values);
}

}  // namespace

ConfigTable::ConfigTable(std::span<const Config> rows) {
  std::map<std::string, Column> columns;
  std::map<std::string, std::map<Value, uint32_t>> codes;
  for (size_t row = 0; row < rows.size(); ++row) {
    for (const auto& [name, value] : rows[row].values()) {
      Column& column = columns[name];
      column.codes.resize(rows.size(), 0);
      const auto [found, is_new] = codes[name].emplace(value, static_cast<uint32_t>(column.values.size()) + 1);
      if (is_new) column.values.push_back(value);
      column.codes[row] = found->second;
    }
  }
  std::vector<Column> all;
  for (auto& [name, column] : columns) {
    column.name = name;
    all.push_back(std::move(column));
  }
  *this = ConfigTable(rows.size(), std::move(all));
}

ConfigTable::ConfigTable(uint64_t num_rows, std::vector<Column> columns) {
  for (const Column& column : columns) check_column(column, num_rows);
  auto contents = std::make_shared<Contents>();
  // Without attributes all rows are the empty config.
  contents->num_rows = columns.empty() ? std::min<uint64_t>(num_rows, 1) : num_rows;
  contents->columns = std::move(columns);
  sort_columns(*contents);
  index_rows(*contents);
  contents_ = std::move(contents);
}

void ConfigTable::sort_columns(Contents& contents) {
  auto& columns = contents.columns;
  for (Column& column : columns) renumber(column);
  std::erase_if(columns, [](const Column& column) { return column.values.empty(); });
  std::ranges::sort(columns, {}, &Column::name);
  const auto again = std::ranges::adjacent_find(columns, {}, &Column::name);
  if (again != columns.end())
    fail(ErrorCode::invalid_input, "a list of configs must name each attribute once, got '{}' again", again->name);
  if (columns.empty()) contents.num_rows = std::min<uint64_t>(contents.num_rows, 1);
}

/// Enters each row once; returns which rows are there already.
std::vector<bool> ConfigTable::fill_places(Contents& contents) {
  const auto hashes = hashes_of(contents.num_rows, contents.columns);
  contents.places.assign(std::bit_ceil(2 * contents.num_rows + 1), 0);
  const auto are_equal = [&](uint64_t row, uint64_t other) {
    return hashes[row] == hashes[other] &&
           std::ranges::all_of(contents.columns, [&](const auto& one) { return one.codes[row] == one.codes[other]; });
  };
  std::vector<bool> is_duplicate(contents.num_rows, false);
  const uint64_t last = contents.places.size() - 1;
  for (uint64_t row = 0; row < contents.num_rows; ++row) {
    uint64_t at = hashes[row] & last;
    while (contents.places[at] != 0 && !are_equal(row, contents.places[at] - 1)) at = (at + 1) & last;
    if (contents.places[at] == 0)
      contents.places[at] = row + 1;
    else
      is_duplicate[row] = true;
  }
  return is_duplicate;
}

/// Removes duplicates and makes the table by which rows are found.
void ConfigTable::index_rows(Contents& contents) {
  const std::vector<bool> is_duplicate = fill_places(contents);
  if (std::ranges::find(is_duplicate, true) == is_duplicate.end()) return;
  uint64_t num_left = 0;
  for (uint64_t row = 0; row < contents.num_rows; ++row) {
    if (is_duplicate[row]) continue;
    for (Column& column : contents.columns) column.codes[num_left] = column.codes[row];
    ++num_left;
  }
  for (Column& column : contents.columns) column.codes.resize(num_left);
  contents.num_rows = num_left;
  fill_places(contents);
}

Config ConfigTable::at(uint64_t row) const {
  std::vector<std::pair<std::string, Value>> values;
  for (const Column& column : contents_->columns) {
    if (const uint32_t code = column.codes[row]; code != 0) values.emplace_back(column.name, column.values[code - 1]);
  }
  return Config(std::move(values));
}

std::optional<uint64_t> ConfigTable::find(const Config& config) const {
  size_t num_known = 0;
  uint64_t hash = kFirstHash;
  std::vector<uint32_t> codes;
  for (const Column& column : contents_->columns) {
    uint32_t code = 0;
    if (config.has(column.name)) {
      const auto found = std::ranges::find(column.values, config.at(column.name));
      if (found == column.values.end()) return std::nullopt;
      code = static_cast<uint32_t>(found - column.values.begin()) + 1;
      ++num_known;
    }
    codes.push_back(code);
    hash = hash_with(hash, code);
  }
  if (num_known != config.values().size()) return std::nullopt;
  const auto& places = contents_->places;
  const uint64_t last = places.size() - 1;
  for (uint64_t at = hash & last; !places.empty() && places[at] != 0; at = (at + 1) & last) {
    const uint64_t row = places[at] - 1;
    bool is_equal = true;
    for (size_t i = 0; is_equal && i < codes.size(); ++i) is_equal = contents_->columns[i].codes[row] == codes[i];
    if (is_equal) return row;
  }
  return std::nullopt;
}

size_t ConfigTable::num_differences(uint64_t row, uint64_t other) const noexcept {
  size_t differences = 0;
  for (const Column& column : contents_->columns) differences += column.codes[row] != column.codes[other];
  return differences;
}

size_t ConfigTable::num_shared(uint64_t row, uint64_t other) const noexcept {
  size_t shared = 0;
  for (const Column& column : contents_->columns)
    shared += column.codes[row] != 0 && column.codes[row] == column.codes[other];
  return shared;
}

size_t ConfigTable::num_attributes(uint64_t row) const noexcept {
  size_t attributes = 0;
  for (const Column& column : contents_->columns) attributes += column.codes[row] != 0;
  return attributes;
}

bool ConfigTable::operator==(const ConfigTable& other) const {
  return contents_ == other.contents_ ||
         (contents_->num_rows == other.contents_->num_rows && contents_->columns == other.contents_->columns);
}

ConfigTableBuilder::ConfigTableBuilder(std::span<const std::string> names) : codes_(names.size()) {
  for (const std::string& name : names) columns_.push_back({.name = name, .values = {}, .codes = {}});
}

void ConfigTableBuilder::add(std::span<const std::optional<int64_t>> values) {
  ATTUNE_CHECK(values.size() == columns_.size(), "a row has {} values for {} attributes", values.size(),
               columns_.size());
  ++num_rows_;
  for (size_t i = 0; i < values.size(); ++i) {
    ConfigTable::Column& column = columns_[i];
    if (!values[i]) {
      column.codes.push_back(0);
      continue;
    }
    const auto [found, is_new] = codes_[i].emplace(*values[i], static_cast<uint32_t>(column.values.size()) + 1);
    if (is_new) column.values.emplace_back(*values[i]);
    column.codes.push_back(found->second);
  }
}

ConfigTable ConfigTableBuilder::build() && { return {num_rows_, std::move(columns_)}; }

}  // namespace attune
