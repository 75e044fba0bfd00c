// SPDX-License-Identifier: MIT
#include "tables/summary/row_summaries.h"

#include <fmt/format.h>

#include "base/error.h"
#include "tables/captured_sources.h"
#include "tables/row_status.h"
#include "tables/runtime_tables.h"
#include "tables/table_lookup.h"

namespace attune {
namespace {

/// The key of a row's problem as the tuner spells it on the row's device; as it stands in the row if that is no problem
/// of this build.
std::string key_as_decided(const TableRow& row) {
  DeviceInfo device;
  device.gfx = row.gfx;
  device.num_units = row.num_units;
  try {
    return as_looked_up(row.problem, device).key();
  } catch (const Error&) {
    return row.problem.key();
  }
}

}  // namespace

RowSummaries row_summaries(const TableSet& set) {
  RowSummaries all{.rows = {}, .notices = set.notices};
  for (const Table& table : set.tables) {
    for (const RowReport& report : row_statuses(table, nullptr, Requirement::none, *set.bans)) {
      const TableRow& row = *report.row;
      const std::string detail = detail_of(table, report);
      all.rows.push_back({.family = std::string(table.family().op),
                          .place = place_of(table, row),
                          .problem = key_as_decided(row),
                          .device = fmt::format("{}/{}", row.gfx, row.num_units),
                          .kernel = row.kernel_name,
                          .require = row.require,
                          .us = row.us,
                          .is_taken = report.status == RowStatus::taken,
                          .use = detail.empty() ? std::string(name(report.status))
                                                : fmt::format("{}: {}", name(report.status), detail)});
    }
  }
  return all;
}

RowSummaries read_row_summaries(std::span<const std::string> named) {
  return row_summaries(read_table_set(named, "", wanted_families("")));
}

}  // namespace attune
