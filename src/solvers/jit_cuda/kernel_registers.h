// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "solvers/jit_cuda/gemm_config.h"

namespace attune::jit_cuda {

/// Blocks for which a multiprocessor must have registers, as `__launch_bounds__` tells the assembler; 0: it decides.
/// Where it decides, it may load what a step of `dot` or `stream` needs just before its use, to save registers for more
/// blocks, or may take a register more than another block would leave. Where it is told, it loads as early as the
/// registers allow. The bounds are those with which the assembler's output (NVRTC 13.0) has loads under way and blocks
/// beside each other like version 2 of the kernels, or more (docs/performance/nvrtc.md).
int64_t resident_blocks(const GemmShape& shape, const GemmConfig& config) noexcept;

}  // namespace attune::jit_cuda
