// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include "compile/compiler.h"
#include "device/device_kind.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "solver/threads/team_size.h"

namespace attune {

template <typename... Solvers>
void add_solvers([[maybe_unused]] Registry& registry) {
  (registry.add(std::make_unique<Solvers>()), ...);
}

}  // namespace attune

/// Defines a module's entry point that registers an op, whose family has no number; `Type` is the Op, default-
/// constructible. The module's file is attune_op_<name>.so, and ATTUNE_SOLVER_MODULE() names its solvers.
#define ATTUNE_OP_MODULE(Type)                                                                                 \
  extern "C" __attribute__((visibility("default"))) void attune_register_ops(void (*add)(const attune::Op&)) { \
    static const Type& op = *new Type;                                                                         \
    add(op);                                                                                                   \
  }

/// Defines a module's entry point that registers a kind of device; `make` is a function that returns its DeviceKind.
/// The module's file is attune_device_<name>.so, and ATTUNE_SOLVER_MODULE() names its solvers.
#define ATTUNE_DEVICE_MODULE(make)                                                \
  extern "C" __attribute__((visibility("default"))) void attune_register_devices( \
      void (*add)(const attune::DeviceKind&)) {                                   \
    add(make());                                                                  \
  }

/// Defines an entry point, beside that of a device or an op, which registers a compiler; `Type` is the Compiler,
/// default-constructible. A LibraryCompiler runs in helpers that open the module too.
#define ATTUNE_COMPILER_MODULE(Type)                                                \
  extern "C" __attribute__((visibility("default"))) void attune_register_compilers( \
      void (*add)(const attune::Compiler&)) {                                       \
    static const Type& compiler = *new Type;                                        \
    add(compiler);                                                                  \
  }

/// Defines a module's two entry points; the arguments are its Solvers, one for each op that it computes,
/// default-constructible. Each has an id and a version of its own, so that mending one voids no row of another.
#define ATTUNE_SOLVER_MODULE(...)                                                                                      \
  extern "C" __attribute__((visibility("default"))) int attune_solver_interface() { return attune::kSolverInterface; } \
  extern "C" __attribute__((visibility("default"))) void attune_register(attune::Registry& registry) {                 \
    attune::share_team_sizes(registry.team_sizes());                                                                   \
    attune::add_solvers<__VA_ARGS__>(registry);                                                                        \
  }
