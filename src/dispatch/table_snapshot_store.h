// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/dispatcher.h"
#include "dispatch/plans/answer_cache.h"
#include "dispatch/table/row_index.h"
#include "dispatch/table/table_sources.h"

namespace attune {

/// Identity, size and modification time of a file when it was read.
struct FileStamp {
  std::filesystem::path file;
  uint64_t inode = 0, bytes = 0;
  int64_t changed_ns = 0;  ///< 0, like inode and bytes, if the file did not exist.
  bool operator==(const FileStamp&) const = default;
};

/// The tables of all ops at one time, and the answers derived from them.
struct Snapshot {
  struct Tables {
    std::shared_ptr<const RowIndex> rows;
    std::vector<FileStamp> stamps;
    std::vector<std::string_view> origins;  ///< Origins of the files in `stamps`.
    std::vector<std::string> notices;       ///< Notices of the sources; `rows` has its own.
  };
  std::vector<Tables> tables;  ///< In the order of families().
  AnswerCache served;

  const RowIndex& rows(size_t family) const { return *tables.at(family).rows; }
  std::vector<std::string> notices() const;
  std::vector<TableInUse> in_use() const;
};

/// Reads the tables of a dispatcher. Not thread-safe.
class TableSnapshotStore {
 public:
  /// Reads the environment, like read_environment(). The arguments must outlive this.
  TableSnapshotStore(const DispatcherOptions& options, const FamilyCodes& codes);

  /// Reads the variables that say where tables are. Call it in the application's thread, which knows whether another
  /// one changes the environment now.
  void read_environment();
  /// Whether a family's tables are given explicitly and replace all others.
  bool are_explicit(size_t family) const;
  /// Returns the rows for a device in the files as they are now, without answers; null if no file differs from
  /// `before`. Tables that do not differ are shared with it. `before`: null the first time. Invalid files are skipped
  /// and are notices of the snapshot.
  std::unique_ptr<Snapshot> read(const DeviceInfo& device, const Snapshot* before) const;

 private:
  TableSources sources(size_t family) const;

  const DispatcherOptions& options_;
  const FamilyCodes& codes_;
  std::vector<TablePlaces> places_;  ///< In the order of families().
};

}  // namespace attune
