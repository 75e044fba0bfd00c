// SPDX-License-Identifier: MIT
#include "tables/passed_rows.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "tables/row_status.h"

namespace attune {
namespace {

std::string why_passed(const Table& table, const RowReport& report, const KernelCheck& usable) {
  const TableRow& row = *report.row;
  if (report.status != RowStatus::taken) {
    const std::string detail = detail_of(table, report);
    return fmt::format("{}{}{}", name(report.status), detail.empty() ? "" : ": ", detail);
  }
  return row_kernel(row.kernel_name, row.layout, usable).why_unservable.value_or("comes after the row that serves");
}

}  // namespace

std::vector<PassedRow> passed_rows(const Table& table, const LookupResult& lookup, const DeviceInfo& device,
                                   Requirement required, const KernelCheck& usable, const BanList& bans) {
  std::map<const TableRow*, RowReport> reports;
  for (const RowReport& one : row_statuses(table, &device, required, bans)) reports.emplace(one.row, one);
  std::set<const TableRow*> known;  // Tried by a step, or listed.
  for (const LookupStep& step : lookup.steps) known.insert(step.row);
  std::vector<PassedRow> passed;
  for (const LookupStep& step : lookup.steps) {
    for (const TableRow* row : table.all(step.key, device.gfx, device.num_units)) {
      if (known.insert(row).second) passed.push_back({row, why_passed(table, reports.at(row), usable)});
    }
  }
  return passed;
}

}  // namespace attune
