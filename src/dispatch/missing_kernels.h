// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attune/usable_rows.h"
#include "dispatch/plans/plan_maker.h"

namespace attune {

/// Counts, for one notice, the kernels of a device's tables that the cache lacks. It looks at few rows at a time,
/// because each takes up to a millisecond, and at 4,096 rows in all. Belongs to the dispatcher's thread.
class MissingKernels {
 public:
  /// A table, and the op of its family.
  using TableFile = std::pair<std::filesystem::path, std::string>;

  bool has_begun() const noexcept { return has_begun_; }
  /// Reads the tables' rows for the device. A table that cannot be read has none.
  void begin(std::span<const TableFile> tables, const DeviceInfo& device);
  /// Looks at the next row; returns false if none is left. `begun`: kernels whose compilation has begun, which count.
  bool look_at_next(PlanMaker& maker, const std::set<std::string>& begun);
  /// The tables that many kernels are missing of, with their number. Requires: look_at_next() has returned false.
  std::vector<std::pair<std::filesystem::path, size_t>> many() const;

 private:
  static constexpr size_t kMany = 3, kMaxRows = 4096;
  struct TableRows {
    std::filesystem::path file;
    std::vector<UsableRow> rows;      ///< Of the device.
    std::set<std::string> missing{};  ///< Recipes.
  };
  bool has_begun_ = false;
  std::vector<TableRows> tables_;
  size_t table_ = 0, row_ = 0;  ///< Place of the next row.
  size_t num_looked_at_ = 0;
};

}  // namespace attune
