// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tables/miopen/miopen_file.h"

namespace attune {

/// What one input gave to a merged file.
struct MergedInput {
  std::string file;
  size_t num_values = 0;  ///< Entries, rows or kernels that it holds.
  size_t num_taken = 0;
};

struct MiopenMerge {
  MiopenFile kind = MiopenFile::none;
  size_t num_keys = 0, num_values = 0;  ///< Of the output.
  std::vector<MergedInput> inputs;
};

/// Merges files of MIOpen of one kind: find-dbs by (key, solver), perf-dbs by (config, solver), kernel-dbs by (name,
/// arguments). The first file that has a value wins; keys keep the order of the files. Entries of a find-db become v2,
/// those of one key sorted by (time, solver). The output's name says whether a perf-db is text. Written like
/// convert_miopen_file(). Throws invalid_input, also for files of several kinds or defects; nothing was written then.
MiopenMerge merge_miopen_files(std::span<const std::filesystem::path> inputs, const std::filesystem::path& output);

}  // namespace attune
