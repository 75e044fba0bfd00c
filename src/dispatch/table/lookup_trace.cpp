// SPDX-License-Identifier: MIT
#include "dispatch/table/lookup_trace.h"

#include <algorithm>
#include <limits>

namespace attune {

std::vector<TracedStep> trace_lookup(const RowIndex& rows, int64_t m, int64_t n, bool pads_m,
                                     std::span<const GroupKey> groups, double max_regret) {
  std::vector<TracedStep> trace;
  const LookupSteps steps(pads_m ? &rows.padding() : nullptr, m, n);
  const auto* step = steps.begin();
  bool has_row = false;  // The step has one.
  const auto end_step = [&] {
    if (!has_row) trace.push_back({{.match = step->match}, step->m});
    has_row = false;
    ++step;
  };
  const double any_regret = max_regret > 0 ? std::numeric_limits<double>::max() : 0;
  visit_rows<RowIndex::kMaxLayouts>(rows, m, n, pads_m, groups, any_regret, [&](const MatchedRow& met) {
    while (step != steps.end() && step->match != met.match) end_step();
    has_row = true;
    trace.push_back({met, rows.row(met.number).m, met.regret <= static_cast<float>(max_regret)});
    return false;
  });
  while (step != steps.end()) end_step();
  return trace;
}

std::vector<const RowIndex::Row*> banned_rows(const RowIndex& rows, const TracedStep& step,
                                              std::span<const GroupKey> groups) {
  std::vector<const RowIndex::Row*> found;
  if (step.met.match == Match::predicted) return found;
  for (const RowIndex::Row& row : rows.banned()) {
    const auto is_its = [&](const GroupKey& group) { return row.key == group.with_m(step.m); };
    if (std::any_of(groups.begin(), groups.end(), is_its)) found.push_back(&row);
  }
  return found;
}

}  // namespace attune
