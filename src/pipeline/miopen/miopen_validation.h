// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

#include "pipeline/finding.h"

namespace attune {

/// The defects of files that MIOpen reads, as findings.
struct MiopenValidation {
  size_t num_files = 0, num_entries = 0;
  std::vector<TableFinding> findings;         ///< By file; without notes. A row of a database has its id as its line.
  std::vector<std::filesystem::path> others;  ///< The named paths that read_table_files() takes.
};

/// Checks the find-dbs, perf-dbs and kernel-dbs among named files, and in named folders those with the names of such.
/// A folder stays among the others unless it has no table. No device is opened: parameters are not compared with
/// candidates. Throws invalid_input for a named file that cannot be read at all.
MiopenValidation validate_miopen_files(std::span<const std::filesystem::path> named);

}  // namespace attune
