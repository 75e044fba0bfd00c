// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/config.h"

namespace attune {

/// Different configs, stored by attribute, because a library lists algorithms by the hundred thousand. Immutable; const
/// members are thread-safe; copies share the contents.
class ConfigTable {
 public:
  /// One attribute of all rows. `codes` has the place of each row's value in `values`, from 1; 0: the row lacks it.
  struct Column {
    std::string name;
    std::vector<Value> values;
    std::vector<uint32_t> codes;
    bool operator==(const Column&) const = default;
  };

  ConfigTable() = default;
  explicit ConfigTable(std::span<const Config> rows);
  /// Duplicate rows are kept once, at their first place. Throws invalid_input for a column whose length is not
  /// `num_rows`, for a repeated name or value, for a code without value, and like Config. O(rows × columns).
  ConfigTable(uint64_t num_rows, std::vector<Column> columns);

  uint64_t size() const noexcept { return contents_->num_rows; }
  /// By name; values in the order in which the rows first name them.
  std::span<const Column> columns() const noexcept { return contents_->columns; }
  Config at(uint64_t row) const;  ///< `row` < size(). About 2 µs.
  std::optional<uint64_t> find(const Config& config) const;
  /// Number of attributes that differ or that only one of the two rows has.
  size_t num_differences(uint64_t row, uint64_t other) const noexcept;
  /// Number of attributes that both rows have, with the same value.
  size_t num_shared(uint64_t row, uint64_t other) const noexcept;
  size_t num_attributes(uint64_t row) const noexcept;
  bool operator==(const ConfigTable& other) const;

 private:
  struct Contents {
    uint64_t num_rows = 0;
    std::vector<Column> columns;
    /// A hash table of the rows: each at the first free place from its hash on, plus 1; 0: the place is free. At least
    /// half of the places are.
    std::vector<uint64_t> places;
  };
  static void sort_columns(Contents& contents);
  static void index_rows(Contents& contents);
  static std::vector<bool> fill_places(Contents& contents);
  std::shared_ptr<const Contents> contents_ = std::make_shared<const Contents>();
};

/// Collects the rows of a table whose values are numbers.
class ConfigTableBuilder {
 public:
  explicit ConfigTableBuilder(std::span<const std::string> names);
  /// A value for each name; nothing: the row lacks the attribute.
  void add(std::span<const std::optional<int64_t>> values);
  ConfigTable build() &&;  ///< Throws like ConfigTable.

 private:
  uint64_t num_rows_ = 0;
  std::vector<ConfigTable::Column> columns_;
  std::vector<std::unordered_map<int64_t, uint32_t>> codes_;  ///< Of the values of each column.
};

}  // namespace attune
