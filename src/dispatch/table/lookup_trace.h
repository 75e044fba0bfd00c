// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <vector>

#include "dispatch/table/matched_rows.h"

namespace attune {

/// One step of a lookup, for people: a row that is tried, or a key without a row.
struct TracedStep {
  MatchedRow met;          ///< met.number 0: no row has the key.
  int64_t m = 0;           ///< M of the key, or of the predicted row.
  bool is_allowed = true;  ///< False if the bound is above `max_regret`; the row does not serve then.
};

/// Returns all steps of a lookup in the order of visit_rows(), as if no row could serve. `groups`: at most
/// RowIndex::kMaxLayouts.
std::vector<TracedStep> trace_lookup(const RowIndex& rows, int64_t m, int64_t n, bool pads_m,
                                     std::span<const GroupKey> groups, double max_regret);

/// Returns the rows of a step's key that do not serve because their kernel is banned. `groups`: as trace_lookup() had
/// them. For people: looks at all banned rows.
std::vector<const RowIndex::Row*> banned_rows(const RowIndex& rows, const TracedStep& step,
                                              std::span<const GroupKey> groups);

}  // namespace attune
