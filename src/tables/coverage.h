// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attune/match.h"
#include "core/ban.h"
#include "core/candidate.h"
#include "core/device_info.h"
#include "dispatch/capture/captured_shapes.h"
#include "formats/csv/table.h"
#include "solver/registry.h"
#include "tables/table_lookup.h"

namespace attune {

/// Returns why a kernel cannot run for a problem on a device that need not be here; nothing if it can, as far as that
/// is known. It is judged from what the solvers state without a device: their versions, the problems that they support
/// and, of a solver that is no library, its configs. No library is opened. Requires: the problem is normalised.
std::optional<std::string> why_not_here(const Candidate& kernel, const Problem& problem, const DeviceInfo& device,
                                        const Registry& solvers);

/// A row of a device that no lookup uses there.
struct UnusedRow {
  std::string place;   ///< `t.csv:17`
  std::string kind;    ///< Category for counting: `has no usable time`.
  std::string detail;  ///< More of the reason; may be empty.
  Problem problem;
};

/// The rows of one device.
struct RowCoverage {
  size_t num_rows = 0;
  std::vector<UnusedRow> unused;  ///< In the order of the tables.
};
/// Finds the rows of the device that no lookup uses, of processes that require `required` or, with none, of all: those
/// that lose to another row, those whose kernel is banned, and those whose kernel cannot run on the device. Whether it
/// can is judged from what the solvers state without a device: their versions, the problems that they support and, of a
/// solver that is no library, its configs. No library is opened.
RowCoverage row_coverage(std::span<const Table> tables, const DeviceInfo& device, const Registry& solvers,
                         Requirement required = Requirement::none, const BanList& bans = {});

/// Number of shapes and calls of captured shapes that are served in the same way.
struct ServedShapes {
  size_t num_shapes = 0;
  uint64_t calls = 0;
};

/// How captured shapes are served.
struct ShapeCoverage {
  std::map<Match, ServedShapes> served;  ///< By the step of the lookup; fallback: no row.
  size_t num_shapes = 0;
  uint64_t calls = 0;
  std::vector<CalledShape> unserved;  ///< Most called first, then in the order of `captured`.
};
/// Looks up each shape. A row whose kernel cannot run on the device serves none, as judged by row_coverage().
ShapeCoverage shape_coverage(std::span<const CapturedShapes> captured, const TableSet& set, const DeviceInfo& device,
                             const Registry& solvers);

}  // namespace attune
