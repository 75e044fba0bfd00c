// SPDX-License-Identifier: MIT
#pragma once

#include "solver/registry.h"

namespace attune {

/// Descriptors that a worker inherits.
inline constexpr int kWorkerChannel = 3, kWorkerAnnouncements = 4;

/// Main loop of a worker: reads requests, runs them on its own device with a LocalExecutor and answers, until the
/// supervisor closes the channel. Returns the exit status: 0 after that, 1 when it cannot continue. `build` must equal
/// the supervisor's. The calling thread measures.
int run_worker(const Registry& solvers, std::string_view build);

}  // namespace attune
