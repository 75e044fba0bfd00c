// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem.h"
#include "core/device_info.h"
#include "dispatch/key_codes.h"
#include "dispatch/table_sources.h"

namespace attune {

/// The rows of one family's tables that serve one device, found by their keys: the run time's form of a Table. Of rows
/// with one key and layout that of the first file wins, inside a file the lowest usable time. Rows of other devices or
/// models, with a `_tag`, without a usable time, and (said in notices) wrong ones are left out. Immutable: any thread.
/// About 1 µs a row to build, at most 200 bytes a row.
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

  /// Null when there is none. About 10 ns, when the rows are in the caches.
  const Row* find(const ProblemKey& key) const noexcept;
  std::span<const Row> rows() const noexcept { return rows_; }
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
  struct Place {
    uint32_t print = 0;  ///< Of the key.
    uint32_t row = 0;    ///< From 1; 0: free.
  };
  size_t place_of(const ProblemKey& key) const noexcept;
  void grow();

  std::vector<Row> rows_;
  std::vector<Place> places_;  ///< A power of two, at most half of them taken.
  std::string names_;
  std::vector<uint32_t> name_ends_{0};
  std::vector<TableSource> files_;
  std::vector<std::string> notices_;
};

}  // namespace attune
