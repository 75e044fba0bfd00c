// SPDX-License-Identifier: MIT
#include "tables/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "solver/contender.h"
#include "solver/static/static_contenders.h"
#include "tables/captured_sources.h"
#include "tables/row_status.h"

namespace attune {
namespace {

/// Returns why a lookup skips the kernel of a row that it finds, or why no problem can have the row's key.
std::optional<std::string> why_passed_over(const TableRow& row, const DeviceInfo& device, const Registry& solvers) {
  const auto usable = [&](const Candidate& candidate) {
    return why_not_here(candidate, as_looked_up(row.problem, device), device, solvers);
  };
  try {
    return row_kernel(row.kernel_name, row.layout, usable).why_unservable;
  } catch (const Error& error) {
    return fmt::format("its key is not a valid problem: {}", error.what());
  }
}

std::optional<UnusedRow> unused_row(const Table& table, const RowReport& one, const DeviceInfo& device,
                                    const Registry& solvers) {
  UnusedRow unused{place_of(table, *one.row), std::string(name(one.status)), "", one.row->problem};
  if (one.status == RowStatus::taken) {
    const auto why = why_passed_over(*one.row, device, solvers);
    if (!why) return std::nullopt;
    unused.kind = "cannot be used on this machine";
    unused.detail = *why;
  } else {
    unused.detail = detail_of(table, one);
  }
  return unused;
}

/// Returns the step of the lookup that serves the shape; fallback: no row does.
Match match_of(const CalledShape& shape, const TableLookup& lookup, const DeviceInfo& device, const Registry& solvers) {
  const Problem problem = as_looked_up(shape.problem, device);
  const auto usable = [&](const Candidate& candidate) { return why_not_here(candidate, problem, device, solvers); };
  return lookup.find(problem, usable).match;
}

}  // namespace

std::optional<std::string> why_not_here(const Candidate& candidate, const Problem& problem, const DeviceInfo& device,
                                        const Registry& solvers) {
  const Solver* solver = solvers.find(candidate.solver);
  if (!solver) return "no solver of that name is available on this machine: " + candidate.solver;
  const Contender stated = static_contender(*solver, problem, device);
  if (!is_known_on_device_only(stated)) return why_unusable(candidate, problem, &stated, device);
  // The version of the library behind the solver's own is not known without opening it.
  const std::string_view version = std::string_view(candidate.version).substr(0, candidate.version.find('+'));
  if (version == solver->version()) return std::nullopt;
  return fmt::format("made with {} {}, this machine has {}", candidate.solver, version, solver->version());
}

RowCoverage row_coverage(std::span<const Table> tables, const DeviceInfo& device, const Registry& solvers,
                         Requirement required, const BanList& bans) {
  RowCoverage coverage;
  for (const Table& table : tables) {
    const auto can_serve = [&](const TableRow& row) { return !why_passed_over(row, device, solvers); };
    for (const RowReport& one : row_statuses(table, &device, required, bans, can_serve)) {
      if (one.status == RowStatus::other_device) continue;
      ++coverage.num_rows;
      if (auto unused = unused_row(table, one, device, solvers)) coverage.unused.push_back(std::move(*unused));
    }
  }
  return coverage;
}

ShapeCoverage shape_coverage(std::span<const CapturedShapes> captured, const TableSet& set, const DeviceInfo& device,
                             const Registry& solvers) {
  const TableLookup lookup(set, device);
  ShapeCoverage coverage;
  for (const CapturedShapes& one : captured) {
    for (const CalledShape& shape : one.shapes) {
      const Match match = match_of(shape, lookup, device, solvers);
      ServedShapes& served = coverage.served[match];
      ++served.num_shapes;
      served.calls += shape.calls;
      ++coverage.num_shapes;
      coverage.calls += shape.calls;
      if (match == Match::fallback) coverage.unserved.push_back(shape);
    }
  }
  std::stable_sort(coverage.unserved.begin(), coverage.unserved.end(),
                   [](const CalledShape& one, const CalledShape& other) { return one.calls > other.calls; });
  return coverage;
}

}  // namespace attune
