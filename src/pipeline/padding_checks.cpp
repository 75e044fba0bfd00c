// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "core/candidate.h"
#include "dispatch/table/lookup_steps.h"
#include "ops/family.h"
#include "pipeline/checks.h"

namespace attune {
namespace {

// Times of one kernel differ by as much from run to run: a smaller difference says nothing about a row.
constexpr double kSlowerBy = 0.02;

/// The row that serves a problem of a row's key and device with `m` rows, of the same layout; null if there is none.
const TableRow* row_of(const Table& table, const TableRow& row, int64_t m) {
  const TableRow* best = nullptr;
  for (const TableRow* one :
       table.all(row.problem.with(table.family().rows, std::to_string(m)), row.gfx, row.num_units)) {
    const bool serves = one->us && one->tag.empty() && one->device == row.device && one->require == row.require &&
                        layout_in_cell(one->layout) == layout_in_cell(row.layout);
    if (serves && (best == nullptr || one->rank(row.require) < best->rank(row.require))) best = one;
  }
  return best;
}

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
      const TableRow* padded = row_of(table, row, step.m);
      if (padded == nullptr) continue;
      if (*row.us > *padded->us * (1 + kSlowerBy))
        findings.add(FindingKind::slower_than_padded, row,
                     fmt::format("{} µs, {} would serve it in {} µs: {} = {}", *row.us, place_of(table, *padded),
                                 *padded->us, family.rows, step.m));
      break;  // Only the first step that has a row serves.
    }
  }
}

}  // namespace attune
