// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include "device/device_kind.h"
#include "ops/op.h"
#include "solver/registry.h"

namespace attune {

template <typename... Solvers>
void add_solvers(Registry& registry) {
  (registry.add(std::make_unique<Solvers>()), ...);
}

}  // namespace attune

/// Defines a module's entry point that registers an op, whose family has no number; `Type` is the Op, default-
/// constructible. The module's file is attune_op_<name>.so, and it may hold the op's solvers too, by
/// ATTUNE_OP_SOLVERS(Type …); without them, ATTUNE_OP_SOLVERS().
#define ATTUNE_OP_MODULE(Type)                                                                                 \
  extern "C" __attribute__((visibility("default"))) void attune_register_ops(void (*add)(const attune::Op&)) { \
    static const Type& op = *new Type;                                                                         \
    add(op);                                                                                                   \
  }
/// Defines a module's entry point that registers a kind of device; `make` is a function that returns its DeviceKind.
/// The module's file is attune_device_<name>.so, and ATTUNE_OP_SOLVERS() names its solvers.
#define ATTUNE_DEVICE_MODULE(make)                                                \
  extern "C" __attribute__((visibility("default"))) void attune_register_devices( \
      void (*add)(const attune::DeviceKind&)) {                                   \
    add(make());                                                                  \
  }
#define ATTUNE_OP_SOLVERS(...)                                                                                         \
  extern "C" __attribute__((visibility("default"))) int attune_solver_interface() { return attune::kSolverInterface; } \
  extern "C" __attribute__((visibility("default"))) void attune_register(attune::Registry& registry) {                 \
    attune::add_solvers<__VA_ARGS__>(registry);                                                                        \
  }

/// Defines a module's two entry points; `Type` is its Solver, default-constructible.
#define ATTUNE_SOLVER_MODULE(Type)                                                                                     \
  extern "C" __attribute__((visibility("default"))) int attune_solver_interface() { return attune::kSolverInterface; } \
  extern "C" __attribute__((visibility("default"))) void attune_register(attune::Registry& registry) {                 \
    registry.add(std::make_unique<Type>());                                                                            \
  }
