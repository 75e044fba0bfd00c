// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attune/problem.h"
#include "formats/csv/table.h"

namespace attune {

struct ChangedCell {
  std::string column, before, after;
};

/// One row of a comparison; both sides have the same key and device.
struct RowChange {
  Problem problem;
  std::string gfx;
  int64_t num_units = 0;
  std::string tag;
  size_t old_line = 0, new_line = 0;     ///< 0: no such row.
  std::optional<double> old_us, new_us;  ///< Usable times only.
  std::optional<double> ratio;           ///< old_us / new_us: above 1 means that the new row is faster.
  std::vector<ChangedCell> cells;        ///< Columns whose texts differ, in the order of the new file, including `us`.
};

struct ComparedTables;

/// Rows of a comparison. A row is read from its tables when it is asked for: a list of a million rows takes 16 MB.
class RowChanges {
 public:
  /// Places of the two rows; kNone: there is no such row.
  struct Pair {
    static constexpr uint32_t kNone = UINT32_MAX;
    RowPlace before{kNone, kNone}, after{kNone, kNone};
  };
  class Iterator {
   public:
    Iterator(const RowChanges& changes, size_t index) : changes_(&changes), index_(index) {}
    RowChange operator*() const { return (*changes_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator==(const Iterator& other) const noexcept { return index_ == other.index_; }

   private:
    const RowChanges* changes_;
    size_t index_;
  };

  RowChanges() = default;
  RowChanges(std::shared_ptr<const ComparedTables> tables, std::vector<Pair> pairs)
      : tables_(std::move(tables)), pairs_(std::move(pairs)) {}
  size_t size() const noexcept { return pairs_.size(); }
  bool empty() const noexcept { return pairs_.empty(); }
  RowChange operator[](size_t index) const;
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  std::shared_ptr<const ComparedTables> tables_;
  std::vector<Pair> pairs_;
};

struct TableDiff {
  RowChanges added, removed, changed;  ///< In the order of their file (changed: of the new one).
  size_t num_same = 0;
  std::vector<std::string> notices;  ///< Table::notices() of both.
};

/// Compares two tables. Rows match by key, gfx, cu_num and `_tag`; repeated ones are paired in order. If
/// `shared_columns` is true, a column that is empty in one of the rows is no difference (files of different formats
/// have different columns). Throws invalid_input for tables of different families.
TableDiff diff(const TableStream& before, const TableStream& after, bool shared_columns = false);

}  // namespace attune
