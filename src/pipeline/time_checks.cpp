// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "formats/csv/table_columns.h"
#include "pipeline/checks.h"

namespace attune {
namespace {

// A launch takes more than a few dozen cycles of any clock, and no tuner waits for one longer.
constexpr double kShortestLaunch_us = 0.01, kLongestLaunch_us = 600e6;

bool is_unusable(std::optional<double> us) { return !us || !std::isfinite(*us) || *us <= 0; }

void check_launch(const TableRow& row, std::string_view column, double us, FindingList& findings) {
  if (us < kShortestLaunch_us || us > kLongestLaunch_us)
    findings.add(FindingKind::absurd_time, row,
                 fmt::format("column '{}' states {} µs, a launch takes from {} µs to {:.0f} s", column, us,
                             kShortestLaunch_us, kLongestLaunch_us / 1e6));
}

void check_parts(const Table& table, const TableRow& row, FindingList& findings) {
  for (const PartColumns& part : table.family().parts) {
    const std::string_view cell = table.cell(row, part.us);
    const auto us = parse_double(cell);
    // A part that the row does without has no time, or zero.
    if (cell.empty() || us == 0.0) continue;
    if (is_unusable(us))
      findings.add(FindingKind::unusable_time, row,
                   fmt::format("column '{}' expects a time in µs, got '{}'", part.us, shown(cell)));
    else
      check_launch(row, part.us, *us, findings);
  }
}

void check_roofline(const TableInput& input, const TableRow& row, FindingList& findings) {
  const FamilySpec& family = input.table.family();
  const DeviceLimits* limits = find_limits(input.rules.devices, row.gfx, row.num_units);
  if (limits == nullptr || family.counted_work == nullptr) return;
  const CountedWork work = family.counted_work(row.problem);
  const RooflineBound bound = roofline_bound(work, *limits);
  if (*row.us >= bound.us) return;
  const std::string why = bound.is_memory ? fmt::format("{:.0f} bytes", work.least_bytes)
                                          : fmt::format("{:.4g} operations in {}", work.flops, name(work.arithmetic));
  findings.add(FindingKind::below_roofline, row,
               fmt::format("{} µs for {}, {} needs at least {:.4g} µs", *row.us, why, limits->device.key(), bound.us));
}

}  // namespace

void check_times(const TableInput& input, FindingList& findings) {
  for (const TableRow& row : input.table.rows()) {
    check_parts(input.table, row, findings);
    const std::string_view cell = input.table.cell(row, "us");
    const auto us = parse_double(cell);
    if (is_unusable(us)) {
      findings.add(FindingKind::unusable_time, row, time_error(cell));
      continue;
    }
    check_launch(row, "us", *us, findings);
    if (row.us) check_roofline(input, row, findings);
  }
}

}  // namespace attune
