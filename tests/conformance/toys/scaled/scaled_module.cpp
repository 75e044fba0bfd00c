// SPDX-License-Identifier: MIT
#include "scaled_op.h"
#include "scaled_solver.h"
#include "solver/module.h"

ATTUNE_OP_MODULE(attune::toys::ScaledOp)
ATTUNE_OP_SOLVERS(attune::toys::ScaledSolver)
