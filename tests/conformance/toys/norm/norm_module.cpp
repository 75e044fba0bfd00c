// SPDX-License-Identifier: MIT
#include "norm_op.h"
#include "norm_solver.h"
#include "solver/module.h"

ATTUNE_OP_MODULE(attune::toys::NormOp)
ATTUNE_SOLVER_MODULE(attune::toys::NormSolver)
