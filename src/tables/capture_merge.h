// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "dispatch/capture/captured_shapes.h"

namespace attune {

/// Limits of a merge of captured shapes.
struct CaptureLimits {
  uint64_t min_calls = 0;        ///< Shapes that were called less often are skipped.
  std::optional<int64_t> max_m;  ///< Shapes with more rows (rows_of()) are skipped.
};

/// One list of captured shapes.
struct CaptureMerge {
  CapturedShapes shapes;  ///< At least one.
  size_t num_skipped = 0;
};
/// Merges captured shapes, which must be of one family: a list holds one. `sources` are the places they were read from,
/// for messages. Throws invalid_input if there are several families, or nothing is left.
CaptureMerge capture_merge(std::vector<CapturedShapes> captured, std::span<const std::filesystem::path> sources,
                           const CaptureLimits& limits);

/// Files that a merge writes.
struct CaptureOutputs {
  std::filesystem::path shapes, counts;
};
/// Writes the shapes as a list for `attune tune -i`, and their calls. Throws invalid_input, before anything is written,
/// for outputs that would be read with the sources (calls would count twice) or that would overwrite other files; io.
void write_capture_merge(const CaptureMerge& merge, const CaptureOutputs& outputs,
                         std::span<const std::filesystem::path> sources);

}  // namespace attune
