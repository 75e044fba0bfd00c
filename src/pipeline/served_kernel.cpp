// SPDX-License-Identifier: MIT
#include "pipeline/served_kernel.h"

#include <utility>

#include "base/error.h"
#include "measure/contenders.h"
#include "ops/op.h"
#include "solver/contender.h"
#include "tables/row_status.h"

namespace attune {

ServedKernel served_kernel(const TableLookup& tables, const Problem& problem, Executor& executor, const Tick& tick) {
  // A library lists its configs for seconds unless it is told which ones are wanted: the rows' configs.
  std::vector<Candidate> of_rows;
  tables.find(problem, [&](const Candidate& candidate) {
    of_rows.push_back(candidate);
    return std::optional<std::string>("not asked for yet");
  });
  const auto found = contenders(executor, problem, {}, tick, of_rows);
  ServedKernel kernel;
  const auto baseline = baseline_candidate(problem, found);
  if (!baseline) fail(ErrorCode::unavailable, "no available solver supports the problem: '{}'", problem.key());
  if (gives_default(op_of(problem).family(), *baseline)) kernel.baseline = *baseline;
  const LookupResult lookup = tables.find(
      problem, [&](const Candidate& candidate) { return why_unusable(candidate, problem, found, executor.device()); });
  kernel.served = lookup.candidate.value_or(*baseline);
  kernel.match = lookup.match;
  if (lookup.row == nullptr) return kernel;
  kernel.row = place_of(*lookup.table, *lookup.row);
  kernel.stated_us = lookup.row->us;
  return kernel;
}

}  // namespace attune
