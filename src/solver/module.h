// SPDX-License-Identifier: MIT
#pragma once
#include "solver/registry.h"

/// Defines a module's two entry points; `Type` is its Solver, default-constructible.
#define ATTUNE_SOLVER_MODULE(Type)                                                                                     \
  extern "C" __attribute__((visibility("default"))) int attune_solver_interface() { return attune::kSolverInterface; } \
  extern "C" __attribute__((visibility("default"))) void attune_register(attune::Registry& registry) {                 \
    registry.add(std::make_unique<Type>());                                                                            \
  }
