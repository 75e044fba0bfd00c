// SPDX-License-Identifier: MIT
// A module with two solvers that have the kernels of portable.gemm: level.gemm as fast, slowed.gemm 5 % slower. A table
// that names one of them in place of portable.gemm has a change that is known. tests/perf/live_changes uses it.
#include "slowed_solver.h"
#include "solver/module.h"

namespace attune {
void register_portable_solver(Registry& registry);
}

// A module must say that it brings an op or a device; this one brings solvers for an op that is there.
extern "C" __attribute__((visibility("default"))) void attune_register_ops(void (*)(const attune::Op&)) {}

extern "C" __attribute__((visibility("default"))) int attune_solver_interface() { return attune::kSolverInterface; }

extern "C" __attribute__((visibility("default"))) void attune_register(attune::Registry& registry) {
  static attune::Registry& own = *new attune::Registry;
  attune::register_portable_solver(own);
  const attune::Solver& portable = *own.entries().front().solver;
  registry.add(attune::experiments::make_slowed("level.gemm", portable, 0));
  registry.add(attune::experiments::make_slowed("slowed.gemm", portable, 0.05));
}
