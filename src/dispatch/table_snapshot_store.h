// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
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
    bool none_serves = false;  ///< Tables are named and none can serve; `rows` are then of the other tables, or
    std::string kept;          ///< of an earlier snapshot: a sentence that says so.
  };
  std::vector<Tables> tables;  ///< In the order of families().
  AnswerCache served;
  FileStamp bans_stamp;                  ///< Of the file of banned kernels.
  std::vector<std::string> ban_notices;  ///< What of that file is skipped.
  std::vector<std::string> variable_notices;
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
  /// null the first time. Invalid files are skipped and are notices of the snapshot. When named tables become unusable,
  /// the earlier rows stay in use. Throws invalid_input the first time if ATTUNE_CONFIG_STRICT=1 forbids a named file.
  std::unique_ptr<Snapshot> read(const DeviceInfo& device, const Snapshot* before) const;
  /// Whether read() makes digests, for which it reads the files twice. Default: no.
  void make_digests(bool makes) noexcept { makes_digests_ = makes; }
  /// Returns a snapshot without rows and answers, with the bans of another.
  std::unique_ptr<Snapshot> without_rows(const DeviceInfo& device, const Snapshot& other) const;

 private:
  bool read_bans(Snapshot& fresh, const Snapshot* before) const;
  TableSources sources(size_t family, const DeviceInfo& device) const;
  /// Like check_named_table(); reads a file again only when its stamp has changed.
  NamedTableCheck check_named(const std::filesystem::path& file, size_t family, const DeviceInfo& device) const;

  const DispatcherOptions& options_;
  const FamilyCodes& codes_;
  std::filesystem::path ban_file_;   ///< Empty if there is no home folder.
  std::vector<TablePlaces> places_;  ///< In the order of families().
  std::vector<std::string> variable_notices_;
  struct CheckedTable {
    FileStamp stamp;
    std::string device;  ///< DeviceInfo::fingerprint().
    NamedTableCheck check;
  };
  mutable std::map<std::pair<size_t, std::filesystem::path>, CheckedTable> checked_;  ///< By family and file.
  bool makes_digests_ = false;
};

}  // namespace attune
