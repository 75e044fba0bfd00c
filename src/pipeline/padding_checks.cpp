// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "dispatch/table/lookup_steps.h"
#include "ops/family.h"
#include "pipeline/checks.h"

namespace attune {
namespace {

// Times of one kernel differ by as much from run to run: a smaller difference says nothing about a row.
constexpr double kSlowerBy = 0.02;

}  // namespace

void check_padding(const TableInput& input, FindingList& findings) {
  const Table& table = input.table;
  const FamilySpec& family = table.family();
  if (!family.pads_rows) return;
  for (const RowReport& report : input.states) {
    const TableRow& row = *report.row;
    if (report.status != RowStatus::taken) continue;
    const int64_t m = row.problem.integer_or(family.rows, 0);
    for (const LookupSteps::Step& step : LookupSteps(&family.padding, m, row.problem.integer_or(family.columns, 0))) {
      // The coarse step may lead to fewer rows, whose kernel would be launched for more.
      if (step.m <= m) continue;
      const PaddedRows::Row* padded = input.padded.find(row, step.m);
      if (padded == nullptr) continue;
      if (*row.us > padded->us * (1 + kSlowerBy))
        findings.add(FindingKind::slower_than_padded, row,
                     fmt::format("{} µs, {} would serve it in {} µs: {} = {}", *row.us,
                                 table.documents()[padded->place.file].where(padded->place.row), padded->us,
                                 family.rows, step.m));
      break;  // Only the first step that has a row serves.
    }
  }
}

}  // namespace attune
