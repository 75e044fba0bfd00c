// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attune/match.h"
#include "attune/problem.h"
#include "core/candidate.h"
#include "core/device_info.h"
#include "dispatch/table/table_groups.h"
#include "formats/csv/table.h"

namespace attune {

/// One step of a lookup, for `attune explain`.
struct LookupStep {
  Match match = Match::fallback;
  Problem key;  ///< The problem looked up in this step.
  const TableRow* row = nullptr;
  double regret_bound = 0;  ///< Bound on the regret of a predicted row.
  std::string remark;       ///< Why the row was not used, or another remark.
};

struct LookupResult {
  Match match = Match::fallback;
  const TableRow* row = nullptr;  ///< Null for fallback.
  std::optional<Candidate> candidate;
  std::vector<LookupStep> steps;
};

/// Returns why a row's kernel cannot run on this machine; nothing if it can.
using RowCheck = std::function<std::optional<std::string>(const Candidate& candidate)>;

/// Finds the row that serves a problem: exact, then M padded fine, then coarse (families with pads_m only), then the
/// predicted rows of `groups` (null: none), else fallback to the untuned config. A row whose kernel is unknown, or that
/// `usable` refuses, falls through to the next step. Requires: the problem is normalised. O(log rows).
LookupResult look_up(const Table& table, const Problem& problem, const DeviceInfo& device, const RowCheck& usable,
                     const TableGroups* groups = nullptr);

}  // namespace attune
