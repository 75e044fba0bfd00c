// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "attune/plan.h"

namespace attune {

/// Returns the workspace of the calling thread for one run of a plan, zero where PlanTraits::zeroed_bytes says so, or
/// null for a plan without one. The memory is the thread's until it ends, and every call returns the same as long as it
/// is large enough. Throws unavailable when there is no memory.
void* thread_workspace(const Plan& plan);

/// Frees the calling thread's workspace and returns its bytes. Requires: the thread runs no plan.
uint64_t free_thread_workspace() noexcept;

}  // namespace attune
