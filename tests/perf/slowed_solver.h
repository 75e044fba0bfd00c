// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <string>

#include "solver/solver.h"

namespace attune::experiments {

/// Another solver under a new name, version 1, whose every run takes `slow_by` longer (0.05: 5 %): it reads the clock
/// around the real run and then spins on the calling thread for that fraction of the time the run took. With 0 the run
/// is passed through without a look at the clock. `inner` must outlive it.
std::unique_ptr<Solver> make_slowed(std::string id, const Solver& inner, double slow_by);

}  // namespace attune::experiments
