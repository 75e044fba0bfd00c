// SPDX-License-Identifier: MIT
#include "measure/contenders.h"

#include "base/error.h"

namespace attune {

std::vector<Contender> contenders(Executor& executor, const Problem& problem, const Protocol& protocol) {
  constexpr ProblemId kProbe = ~ProblemId{0};
  executor.open(kProbe, problem, protocol);
  std::vector<Contender> found;
  for (bool answered = false; !answered;) {
    for (Event& event : executor.wait(Milliseconds(1000))) {
      if (auto* opened = std::get_if<Opened>(&event)) {
        if (!opened->refused.empty()) fail(ErrorCode::unavailable, "{}", opened->refused);
        found = std::move(opened->contenders);
        answered = true;
      }
    }
  }
  executor.close(kProbe);
  return found;
}

}  // namespace attune
