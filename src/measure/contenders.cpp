// SPDX-License-Identifier: MIT
#include "measure/contenders.h"

#include "base/error.h"
#include "measure/blocking_calls.h"

namespace attune {

std::vector<Contender> contenders(Executor& executor, const Problem& problem, const Protocol& protocol) {
  constexpr ProblemId kProbe = ~ProblemId{0};
  Opened opened = open(executor, {kProbe, problem, protocol});
  if (!opened.refused.empty()) fail(ErrorCode::unavailable, "{}", opened.refused);
  executor.close(kProbe);
  return std::move(opened.contenders);
}

}  // namespace attune
