// SPDX-License-Identifier: MIT
#include "scaled_op.h"
#include "scaled_solver.h"
#include "solver/module.h"

ATTUNE_OP_MODULE(attune::toys::ScaledOp)
ATTUNE_SOLVER_MODULE(attune::toys::ScaledSolver)
