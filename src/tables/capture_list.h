// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attune/match.h"
#include "core/device_info.h"
#include "dispatch/capture/captured_shapes.h"
#include "tables/table_lookup.h"

namespace attune {

/// A captured shape and the row that serves it.
struct ShapeShare {
  CalledShape shape;
  std::string row;  ///< `t.csv:17`; empty: none.
  Match match = Match::fallback;
  std::optional<double> us;  ///< Time of the row.
  double total_us = 0;       ///< Calls × time; 0 if either is unknown.
};

/// Captured shapes by their share of the time, or of the calls where no table knows the time.
struct CaptureList {
  std::vector<ShapeShare> shapes;  ///< By total_us, then by calls, larger first; then in the order of `captured`.
  double us = 0, calls = 0;        ///< Sums over all shapes.
  size_t num_without_row = 0;
  double calls_without_row = 0;
};
/// Lists the shapes of all families. A row serves a shape even if its kernel cannot run on the device: the time is a
/// weight for the list.
CaptureList capture_list(std::span<const CapturedShapes> captured, const TableSet& set, const DeviceInfo& device);

}  // namespace attune
