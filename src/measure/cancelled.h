// SPDX-License-Identifier: MIT
#pragma once
#include "measure/executor.h"

namespace attune {

/// Answers of an executor that was told to abort.
inline Opened cancelled_opening(ProblemId id) { return {.problem = id, .refused = "the run was stopped"}; }
inline Admitted cancelled_admission(Slot slot) {
  return {.slot = slot, .verified = {.status = Status::cancelled, .detail = "the run was stopped"}};
}
inline Sampled cancelled_sampling() { return {.interrupted = true}; }

}  // namespace attune
