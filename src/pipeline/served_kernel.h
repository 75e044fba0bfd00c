// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>

#include "attune/match.h"
#include "attune/problem.h"
#include "core/candidate.h"
#include "measure/executor.h"
#include "tables/table_lookup.h"

namespace attune {

/// The kernels of one problem on the executor's device: the one with which tables serve it, and the one without them.
struct ServedKernel {
  Candidate served;    ///< What runs without tables if no row serves.
  Candidate baseline;  ///< The default (gives_default()); empty: no library serves the problem.
  Match match = Match::fallback;
  std::string row;                  ///< Place of the row that serves: `t.csv:17`; empty: none does.
  std::optional<double> stated_us;  ///< Time that this row states for its own shape.
};

/// Looks a problem up in the tables, by the rule of the run time, among the kernels that run on the device. Requires:
/// the problem is normalised and the executor has nothing under way. Throws unavailable if no solver supports the
/// problem, and what contenders() throws.
ServedKernel served_kernel(const TableLookup& tables, const Problem& problem, Executor& executor,
                           const Tick& tick = {});

}  // namespace attune
