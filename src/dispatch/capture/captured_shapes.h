// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "dispatch/capture/capture_files.h"

namespace attune {

/// What captured files say about one family.
struct CapturedShapes {
  const FamilySpec* family = nullptr;
  std::vector<CalledShape> shapes;  ///< Each once, most called first, else in the order read; 0 calls: not known.
};

/// Reads and adds up captured files: a folder stands for the untuned files in it with their counts, a file for itself
/// with the counts beside it (counts_files()), a file with a column `calls` for its own counts. A file that is reached
/// twice counts once. In the order of families(); `family`, unless null, leaves the others out of folders and is that
/// of files whose name does not tell. Throws invalid_input for a path that is not there, a file that is no list of
/// shapes (`file:line: …`), or one of another family than the one asked for.
std::vector<CapturedShapes> read_captures(std::span<const std::filesystem::path> sources,
                                          const FamilySpec* family = nullptr);

/// M of a product, tokens of fmoe.
int64_t rows_of_a(const Problem& problem);

}  // namespace attune
