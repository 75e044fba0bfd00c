// SPDX-License-Identifier: MIT
#include "tables/passed_rows.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "attune/error.h"
#include "base/text.h"
#include "solver/contender.h"
#include "tables/row_status.h"

namespace attune {
namespace {

std::string why_passed(const Table& table, const RowReport& report, bool is_served, Requirement required,
                       const RowCheck& usable) {
  const TableRow& row = *report.row;
  if (report.status != RowStatus::taken) {
    const std::string detail = detail_of(table, report);
    return fmt::format("{}{}{}", name(report.status), detail.empty() ? "" : ": ", detail);
  }
  if (!meets(row.require, required)) return fmt::format("does not state that it is {}", text(required));
  try {
    const Candidate candidate = Candidate::parse(row.kernel_name);
    if (auto why = why_unreadable(candidate, row.layout)) return *std::move(why);
    if (auto why = usable(candidate)) return *std::move(why);
  } catch (const Error&) {
    return "this program has no such kernel: '" + shown(row.kernel_name) + "'";
  }
  return is_served ? "comes after the row that serves" : "names another kernel than the first row of its weight";
}

}  // namespace

std::vector<PassedRow> passed_rows(const Table& table, const LookupResult& lookup, const DeviceInfo& device,
                                   Requirement required, const RowCheck& usable) {
  std::map<const TableRow*, RowReport> reports;
  for (const RowReport& one : row_statuses(table, &device)) reports.emplace(one.row, one);
  std::set<const TableRow*> known;  // Tried by a step, or listed.
  for (const LookupStep& step : lookup.steps) known.insert(step.row);
  std::vector<PassedRow> passed;
  for (const LookupStep& step : lookup.steps) {
    for (const TableRow* row : table.all(step.key, device.gfx, device.num_units)) {
      if (known.insert(row).second)
        passed.push_back({row, why_passed(table, reports.at(row), lookup.row != nullptr, required, usable)});
    }
  }
  return passed;
}

}  // namespace attune
