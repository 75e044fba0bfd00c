// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "core/binary.h"
#include "solvers/jit_cuda/gemm_config.h"

namespace attune::jit_cuda {

/// Entries of the compiled tasks.
inline constexpr const char* kProductEntry = "attune_product";
inline constexpr const char* kSumEntry = "attune_sum_parts";

/// The task that makes a config's kernel for an architecture (`sm_90`). Its text depends on the config's compile-time
/// parameters, the types, and on whether rows are multiples of 16 bytes: neither on sizes nor on the number of parts.
CompileTask gemm_task(const GemmShape& shape, const GemmConfig& config, const std::string& arch);
/// The task of the second launch, which adds parts of k. It is one for all configs of the types: beside each kernel it
/// would take NVRTC 45 ms again.
CompileTask sum_task(const GemmShape& shape, const std::string& arch);

}  // namespace attune::jit_cuda
