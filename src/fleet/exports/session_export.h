// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fleet/exports/result_changes.h"
#include "store/fleet/fleet_store.h"
#include "store/fleet/golden_sets.h"

namespace attune {

struct SessionExportOptions {
  int64_t session = 0;
  int64_t golden_version = 0;  ///< Instead of a session: a golden set.
  std::string device;          ///< Of the golden set: DeviceInfo::key(); empty: it has one device.
  std::string tag;             ///< Empty: every configuration with jobs in the session, or all of the golden set.
  bool find_db = false, perf_db = false, kernel_db = false, table = false;
  std::filesystem::path folder = ".";
  /// Names of Attune's own solvers in the files of an AMD device. MIOpen drops the keys of solvers that it does not
  /// know. The files of other devices have them always.
  bool foreign_solvers = false;
};

struct ExportedFile {
  std::filesystem::path path;
  std::string content;  ///< `979 keys with 2937 entries`
  /// Compared with the file that it replaced; nothing: there was none, or it could not be read.
  std::optional<ResultChanges> changes = {};
};

struct SessionExport {
  std::vector<ExportedFile> files;
  /// Configurations that the files lack, as their canonical lines, each with the reason.
  std::vector<std::pair<std::string, std::string>> lacking;
  std::vector<std::string> notices;
  std::vector<FleetSession> sessions;  ///< Where the results are from; of a golden set may be several.
};

/// Writes what a session has decided. Of convolutions: find-db `gfx90878.HIP.fdb.txt` (v2; the best four of a key by
/// time and name; keys in byte order), perf-db `gfx90878.db` and `gfx90878.db.txt`, kernel-db `gfx90878.kdb` of the
/// finalists' kernels, and the rows of the winners in `conv_tuned.csv`. Of another op the rows alone, in its family's
/// default table. Each file is replaced under its lock and atomically, and compared with the one that was there; the
/// table keeps other rows. Throws invalid_input when a file of another kind has one of the names, before anything is
/// written; io and timeout.
SessionExport export_session(FleetStore& store, const SessionExportOptions& options);
/// The same for a golden set. Also throws invalid_input for a version that is not there, and for several devices
/// without SessionExportOptions::device.
SessionExport export_golden(FleetStore& store, GoldenSets& golden, const SessionExportOptions& options);

}  // namespace attune
