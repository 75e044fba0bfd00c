// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "dispatch/capture/capture_files.h"

namespace attune {

/// The contents of captured files for one family.
struct CapturedShapes {
  const FamilySpec* family = nullptr;
  /// Each shape once for each thread limit; most called first, then in the order read; 0 calls: unknown.
  std::vector<CalledShape> shapes;
};

/// Reads captured files and adds up their calls. A folder stands for the untuned files in it and their counts, a file
/// for itself and the counts beside it (counts_files()), a file with a column `calls` for its own counts. A file that
/// is reached twice counts once. The result is in the order of families(). A non-null `family` restricts folders to
/// that family, and is the family of files whose name does not tell it. Throws invalid_input for a path that does not
/// exist, a file that is no shape list (`file:line: …`), or a file of another family than `family`.
std::vector<CapturedShapes> read_captures(std::span<const std::filesystem::path> sources,
                                          const FamilySpec* family = nullptr);

}  // namespace attune
