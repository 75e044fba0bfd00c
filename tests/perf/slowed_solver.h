// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <string>

#include "solver/solver.h"

namespace attune::experiments {

/// Wraps a solver under a new name, version 1, with every run slowed by the fraction `slow_by` (0.05: 5 %). It times
/// the real run and then spins on the calling thread for that fraction of its time; on a device with streams each
/// (1 / slow_by)th launch is made twice, so that samples of a multiple of so many launches are slowed alike. With 0 it
/// passes the run through. `inner` must outlive it.
std::unique_ptr<Solver> make_slowed(std::string id, const Solver& inner, double slow_by);

}  // namespace attune::experiments
