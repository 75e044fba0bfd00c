// SPDX-License-Identifier: MIT
#include "faulty_solver.h"
#include "solver/module.h"

// A module must say that it brings an op or a device; this one brings a solver for an op that is there.
extern "C" __attribute__((visibility("default"))) void attune_register_ops(void (*)(const attune::Op&)) {}

ATTUNE_SOLVER_MODULE(attune::planted::FaultySolver)
