// SPDX-License-Identifier: MIT
#pragma once

#include "solver/registry.h"

namespace attune {

/// Descriptors that a worker inherits.
inline constexpr int kWorkerChannel = 3, kWorkerAnnouncements = 4;

/// The life of a worker: reads requests, does them on a device of its own with a LocalExecutor, answers, until the
/// supervisor closes the channel. Returns the exit status: 0 after its end, 1 when it cannot go on. `build`: what the
/// supervisor's must be. The calling thread measures.
int run_worker(const Registry& solvers, std::string_view build);

}  // namespace attune
