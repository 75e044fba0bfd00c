// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem.h"
#include "base/huge_pages.h"
#include "core/device_info.h"
#include "dispatch/table/key_codes.h"
#include "dispatch/table/prediction.h"
#include "dispatch/table/row_groups.h"
#include "dispatch/table/table_sources.h"

namespace attune {

/// The rows of one family's tables that serve one device, found by their keys: the run time's form of a Table. Of rows
/// with one key and layout that of the first file wins, inside a file the lowest usable time. Rows of other devices or
/// models, with a `_tag`, without a usable time, and (said in notices) wrong ones are left out. Immutable: any thread.
/// About 1 µs a row to build, at most 170 bytes a row and its kernels' names.
class RowIndex {
 public:
  struct Row {
    ProblemKey key;
    int64_t m = 0;
    uint32_t line = 0;
    uint32_t name = 0;  ///< In names().
    float us = 0;
    uint16_t file = 0;  ///< In files().
  };

  /// A file that cannot be read, or is no table of the family, is left out and said in notices(): an application runs
  /// on without it.
  RowIndex(const KeyCodes& codes, std::vector<TableSource> files, const DeviceInfo& device);

  /// The number of the key's row; 0: there is none. A cache miss.
  uint32_t find(const ProblemKey& key) const noexcept {
    const size_t slot = slot_of(key);
    return prints_[slot] == 0 ? 0 : static_cast<uint32_t>(slot + 1);
  }
  /// Before a find() of a key that is a little later.
  void prefetch(const ProblemKey& key) const noexcept { __builtin_prefetch(&prints_[key.low & (prints_.size() - 1)]); }
  /// Before a predict() that is a little later.
  void prefetch_group(const HalfKey& half) const noexcept { groups_.prefetch(half); }
  /// Rows of another M whose kernels are at most so much slower than the best, as far as times can tell.
  Predictions predict(const HalfKey& half, int64_t m, double max_regret) const noexcept;
  /// The row with the next larger M, all else the same; 0: there is none.
  uint32_t next(const HalfKey& half, int64_t m) const noexcept { return groups_.around(half, m).above; }
  /// Layouts of packed weights that rows name, each once.
  const std::vector<std::string>& layouts() const noexcept { return layouts_; }
  size_t num_rows() const noexcept { return num_rows_; }
  /// Of a number that find() gave.
  const Row& row(uint32_t number) const noexcept { return slots_[number - 1]; }
  std::string_view kernel_name(const Row& row) const noexcept {
    return std::string_view(names_).substr(name_ends_[row.name], name_ends_[row.name + 1] - name_ends_[row.name]);
  }
  std::span<const TableSource> files() const noexcept { return files_; }
  /// `t.csv:17`
  std::string where(const Row& row) const;
  /// One sentence each: what was left out that should not have been, and keys that two rows have.
  const std::vector<std::string>& notices() const noexcept { return notices_; }
  uint64_t num_bytes() const noexcept;  ///< That it holds.

 private:
  friend class RowIndexBuilder;
  static uint64_t print_of(const ProblemKey& key) noexcept { return key.high | 1; }
  /// Of the key, or the free one where it would be.
  size_t slot_of(const ProblemKey& key) const noexcept {
    const size_t mask = prints_.size() - 1;
    size_t at = key.low & mask;
    while (prints_[at] != 0 && prints_[at] != print_of(key)) at = (at + 1) & mask;
    return at;
  }
  void grow();

  // Open addressing; a power of two, at most 7 of 10 taken. A row is found by the prints alone, which are small: half
  // of a key, and 0 for a free slot.
  std::vector<uint64_t, HugePages<uint64_t>> prints_;
  std::vector<Row, HugePages<Row>> slots_;
  size_t num_rows_ = 0;
  RowGroups groups_;
  std::string names_;
  std::vector<uint32_t> name_ends_{0};
  std::vector<TableSource> files_;
  std::vector<std::string> notices_, layouts_;
};

}  // namespace attune
