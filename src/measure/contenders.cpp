// SPDX-License-Identifier: MIT
#include "measure/contenders.h"

#include "base/error.h"
#include "measure/blocking_calls.h"

namespace attune {

std::vector<Contender> contenders(Executor& executor, const Problem& problem, const Protocol& protocol,
                                  const Tick& tick) {
  constexpr ProblemId kProbe = ~ProblemId{0};
  Opened opened = open(executor, {kProbe, problem, protocol}, tick);
  if (!opened.refused.empty()) fail(ErrorCode::unavailable, "{}", opened.refused);
  executor.close(kProbe);
  return std::move(opened.contenders);
}

}  // namespace attune
