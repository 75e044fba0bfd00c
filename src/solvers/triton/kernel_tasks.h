// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "core/binary.h"
#include "ops/gemm/gemm_shape.h"
#include "solvers/triton/gemm_space.h"

namespace attune::triton {

inline constexpr const char* kGemmEntry = "gemm";
inline constexpr const char* kSumEntry = "sum_of_parts";
inline constexpr int64_t kSumBlock = 1024;  ///< Elements of C that a program of the second launch adds up.
inline constexpr int64_t kSumWarps = 4;

/// The kernel of a config: kernels/gemm.py, whose arguments are in its order. One binary serves every product of its
/// types that has rows of 16 bytes or not, and K that fills blocks or not. Its pointers are multiples of 16 bytes.
CompileTask gemm_task(const GemmShape& shape, const GemmConfig& config, const std::string& arch);
/// The second launch of configs with parts of K: kernels/sum_of_parts.py.
CompileTask sum_task(const GemmShape& shape, const std::string& arch);

}  // namespace attune::triton
