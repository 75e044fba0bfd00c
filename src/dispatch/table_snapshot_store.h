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
#include "base/file.h"
#include "core/ban.h"
#include "dispatch/plans/answer_cache.h"
#include "dispatch/table/row_index.h"
#include "dispatch/table/table_sources.h"

namespace attune {

/// The tables of all ops at one time, and the answers derived from them.
struct Snapshot {
  struct Tables {
    std::shared_ptr<const RowIndex> rows;
    std::vector<FileStamp> stamps;
    std::vector<std::string_view> origins;  ///< Origins of the files in `stamps`.
    std::vector<std::string> notices;       ///< Notices of the sources; `rows` has its own.
    std::string contents;                   ///< Digest of the files' contents; empty where digests are not made.
  };
  std::vector<Tables> tables;  ///< In the order of families().
  AnswerCache served;
  FileStamp bans_stamp;                  ///< Of the file of banned kernels.
  std::vector<std::string> ban_notices;  ///< What of that file is skipped.
  std::shared_ptr<const BanList> bans;

  const RowIndex& rows(size_t family) const { return *tables.at(family).rows; }
  /// Of what the files and the bans say, wherever they are; empty for a snapshot without rows.
  std::string digest() const;
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
  /// `before`. Tables that do not differ are shared with it; when the list of banned kernels changes, all do. `before`:
  /// null the first time. Invalid files are skipped and are notices of the snapshot.
  std::unique_ptr<Snapshot> read(const DeviceInfo& device, const Snapshot* before) const;
  /// Whether read() makes digests, for which it reads the files twice. Default: no.
  void make_digests(bool makes) noexcept { makes_digests_ = makes; }
  /// Returns a snapshot without rows and answers, with the bans of another.
  std::unique_ptr<Snapshot> without_rows(const DeviceInfo& device, const Snapshot& other) const;

 private:
  bool read_bans(Snapshot& fresh, const Snapshot* before) const;
  TableSources sources(size_t family) const;

  const DispatcherOptions& options_;
  const FamilyCodes& codes_;
  std::filesystem::path ban_file_;   ///< Empty if there is no home folder.
  std::vector<TablePlaces> places_;  ///< In the order of families().
  bool makes_digests_ = false;
};

}  // namespace attune
