// SPDX-License-Identifier: MIT
#pragma once
#include "solver/registry.h"

namespace attune {

/// Adds `triton.own_gemm`: the GEMM kernels of users (compile/triton/user_kernel_folder.h).
void register_own_gemm_solver(Registry& registry);

}  // namespace attune
