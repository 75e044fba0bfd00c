// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem.h"
#include "attune/requirement.h"
#include "core/ban.h"
#include "core/device_info.h"
#include "dispatch/table/huge_pages.h"
#include "dispatch/table/key_codes.h"
#include "dispatch/table/prediction.h"
#include "dispatch/table/rows_by_m.h"
#include "dispatch/table/table_sources.h"
#include "formats/csv/csv_document.h"

namespace attune {

/// The rows of one family's tables that serve one device under one requirement, indexed by key: the run-time form of a
/// Table. Among rows with the same key and layout, the one of the lowest RowRank wins; the others are its alternates,
/// for the case that its kernel cannot run here. Rows of other devices or models, that do not state what is required,
/// whose kernel is banned, or with a `_tag` are skipped (row_statuses() says it of a Table, for people; testing's
/// SlowLookup is compared with both). Rows of this device that no call can be served with are counted in notices():
/// malformed ones and those without a usable time, which are skipped, and those whose key this build does not compute
/// or whose kernel reads weights in another layout than the row names; banned ones are kept apart. Immutable, hence
/// thread-safe. Building takes about 1 µs per row, memory at most 170 bytes per row plus the kernels' names.
class RowIndex {
 public:
  static constexpr size_t kMaxLayouts = 64;  ///< Maximum number of named layouts; our own tables have fewer.

  struct Row {
    ProblemKey key;
    int64_t m = 0;
    uint32_t line = 0;
    uint32_t name = 0;  ///< Index in names().
    float us = 0;
    uint16_t file = 0;  ///< Index in files().
    Requirement require = Requirement::none;
  };

  /// A file that cannot be read, or is no table of the family, is skipped and reported in notices(): an application
  /// must run on without it.
  RowIndex(const KeyCodes& codes, std::vector<TableSource> files, const DeviceInfo& device,
           Requirement required = Requirement::none, std::shared_ptr<const BanList> bans = nullptr);
  /// Like the above, for documents in memory.
  RowIndex(const KeyCodes& codes, std::span<const CsvDocument> documents, const DeviceInfo& device,
           Requirement required = Requirement::none, std::shared_ptr<const BanList> bans = nullptr);

  /// Returns the number of the key's row; 0: none. Costs one cache miss.
  uint32_t find(const ProblemKey& key) const noexcept {
    const size_t slot = slot_of(key);
    return prints_[slot] == 0 ? 0 : static_cast<uint32_t>(slot + 1);
  }
  /// Returns the row of the same key and layout that serves if this one cannot: the next by RowRank that names another
  /// kernel; 0: none. O(log n) of such rows.
  uint32_t alternate(uint32_t number) const noexcept;
  /// Prefetches for a find() of the key that follows soon.
  void prefetch(const ProblemKey& key) const noexcept { __builtin_prefetch(&prints_[key.low & (prints_.size() - 1)]); }
  /// Prefetches for a predict() that follows soon.
  void prefetch_group(const GroupKey& group) const noexcept { groups_.prefetch(group); }
  /// Returns rows of another M whose kernels, judged by the rows' times, are at most `max_regret` slower than the best.
  Predictions predict(const GroupKey& group, int64_t m, double max_regret) const noexcept;
  /// Returns the row with the next larger M that is otherwise the same; 0: none.
  uint32_t next(const GroupKey& group, int64_t m) const noexcept { return groups_.around(group, m).above; }
  /// Unique layouts of packed weights that rows name.
  const std::vector<std::string>& layouts() const noexcept { return layouts_; }
  size_t num_rows() const noexcept { return num_rows_; }
  /// The family's.
  const PaddingLadder& padding() const noexcept { return padding_; }
  /// Other numbers of units that rows of this device's model are for.
  const std::set<int64_t>& other_units() const noexcept { return other_units_; }
  /// Requires: `number` came from a function of this index and is not 0.
  const Row& row(uint32_t number) const noexcept {
    return number <= slots_.size() ? slots_[number - 1] : alternates_[number - 1 - slots_.size()];
  }
  std::string_view kernel_name(const Row& row) const noexcept {
    return std::string_view(names_).substr(name_ends_[row.name], name_ends_[row.name + 1] - name_ends_[row.name]);
  }
  std::span<const TableSource> files() const noexcept { return files_; }
  /// Rows of the device that do not serve because their kernel is banned, in the order of the files.
  std::span<const Row> banned() const noexcept { return banned_; }
  /// What is banned; also for single problems, which says nothing about a row.
  const std::shared_ptr<const BanList>& bans() const noexcept { return bans_; }
  /// Returns the location of a row, such as `t.csv:17`.
  std::string where(const Row& row) const;
  /// One sentence for each file that cannot be read, for the unusable rows of each other file, and for duplicate keys.
  const std::vector<std::string>& notices() const noexcept { return notices_; }
  uint64_t num_bytes() const noexcept;  ///< Memory used by the index.

 private:
  friend class RowIndexBuilder;
  static uint64_t print_of(const ProblemKey& key) noexcept { return key.high | 1; }
  /// Returns the slot of the key, or the free one where it would be stored.
  size_t slot_of(const ProblemKey& key) const noexcept {
    const size_t mask = prints_.size() - 1;
    size_t at = key.low & mask;
    while (prints_[at] != 0 && prints_[at] != print_of(key)) at = (at + 1) & mask;
    return at;
  }
  void grow();

  // Open addressing; the size is a power of two, at most 70 % used. Prints alone locate a row and are small: half of a
  // key, and 0 for a free slot.
  std::vector<uint64_t, HugePages<uint64_t>> prints_;
  std::vector<Row, HugePages<Row>> slots_;
  std::vector<Row> alternates_;  ///< Sorted by key, then by RowRank. Numbered behind the slots.
  PaddingLadder padding_;
  size_t num_rows_ = 0;
  RowsByM groups_;
  std::string names_;
  std::vector<uint32_t> name_ends_{0};
  std::vector<TableSource> files_;
  std::vector<std::string> notices_, layouts_;
  std::set<int64_t> other_units_;
  std::shared_ptr<const BanList> bans_;  ///< Never null.
  std::vector<Row> banned_;
};

}  // namespace attune
