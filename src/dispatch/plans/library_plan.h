// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include "attune/plan.h"

namespace attune {

/// Wraps a plan of a library with a thread pool, so that any thread may run it in an application that forks and ends.
/// Each run is a LibraryUse. A thread that survived a fork() has another thread run it (forked_thread.h).
std::unique_ptr<Plan> library_plan(std::unique_ptr<Plan> plan);

}  // namespace attune
