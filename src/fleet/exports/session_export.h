// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "store/fleet/fleet_store.h"

namespace attune {

struct SessionExportOptions {
  int64_t session = 0;
  std::string tag;  ///< Empty: every configuration with jobs in the session.
  bool find_db = false, perf_db = false, kernel_db = false, table = false;
  std::filesystem::path folder = ".";
  /// Names of Attune's own solvers in the files of an AMD device. MIOpen drops the keys of solvers that it does not
  /// know. The files of other devices have them always.
  bool foreign_solvers = false;
};

struct ExportedFile {
  std::filesystem::path path;
  std::string content;  ///< `979 keys with 2937 entries`
};

struct SessionExport {
  std::vector<ExportedFile> files;
  /// Configurations that the files lack, as their canonical lines, each with the reason.
  std::vector<std::pair<std::string, std::string>> lacking;
  std::vector<std::string> notices;
};

/// Writes what a session has decided: find-db `gfx90878.HIP.fdb.txt` (v2; the best four of a key by time and name; keys
/// in byte order), perf-db `gfx90878.db` and `gfx90878.db.txt`, kernel-db `gfx90878.kdb` of the finalists' kernels, and
/// the rows of the winners in `conv_tuned.csv`. Each file is replaced under its lock and atomically; the table keeps
/// other rows. Throws invalid_input when a file of another kind has one of the names, before anything is written; io
/// and timeout.
SessionExport export_session(FleetStore& store, const SessionExportOptions& options);

}  // namespace attune
