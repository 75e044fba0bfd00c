// SPDX-License-Identifier: MIT
#include "accelerator_compiler.h"
#include "accelerator_device.h"
#include "accelerator_solver.h"
#include "solver/module.h"

ATTUNE_DEVICE_MODULE(attune::toys::accelerator_kind)
ATTUNE_COMPILER_MODULE(attune::toys::AcceleratorCompiler)
ATTUNE_SOLVER_MODULE(attune::toys::AcceleratorSolver, attune::toys::AssembledSolver)
