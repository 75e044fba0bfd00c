// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include "attune/plan.h"

namespace attune {

/// The plan of a library with a thread pool, for any thread of an application that forks and ends: its runs are
/// LibraryUses, and those of a thread that came through a fork() are made by another (forked_thread.h).
std::unique_ptr<Plan> library_plan(std::unique_ptr<Plan> plan);

}  // namespace attune
