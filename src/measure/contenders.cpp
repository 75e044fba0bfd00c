// SPDX-License-Identifier: MIT
#include "measure/contenders.h"

#include "base/error.h"
#include "measure/blocking_calls.h"

namespace attune {

std::vector<Contender> contenders(Executor& executor, const Problem& problem, const Protocol& protocol,
                                  const Tick& tick, const std::optional<std::vector<Candidate>>& candidates) {
  constexpr ProblemId kProbe = ~ProblemId{0};
  bool is_aborted = false;
  const auto noted_tick = [&] { return is_aborted = tick && tick(); };
  OpenAnswer opened = open(executor, {kProbe, problem, protocol, candidates}, noted_tick);
  const bool is_of_problem = !opened.lost && !opened.lacks_memory && !is_aborted;
  if (!opened.refused.empty())
    fail(is_of_problem ? ErrorCode::invalid_input : ErrorCode::unavailable, "{}", opened.refused);
  executor.close(kProbe);
  return std::move(opened.contenders);
}

}  // namespace attune
