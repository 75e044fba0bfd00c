// SPDX-License-Identifier: MIT
#pragma once
#include <vector>

#include "attune/problem.h"
#include "core/record.h"
#include "measure/executor.h"

namespace attune {

/// Returns every solver's report for a problem: opens the problem, waits for the answer and closes it again. Requires:
/// the problem is normalised and the executor has no outstanding request. `tick`: see blocking_calls.h. `candidates`:
/// see request::Open. Throws invalid_input when the problem cannot be run here (too large …); unavailable when workers
/// died of it, or after an abort.
std::vector<Contender> contenders(Executor& executor, const Problem& problem, const Protocol& protocol,
                                  const Tick& tick = {}, const std::optional<std::vector<Candidate>>& candidates = {});

}  // namespace attune
