// SPDX-License-Identifier: MIT
#pragma once
#include "ops/gemm/gemm_shape.h"
#include "ops/reference_kernel.h"

namespace attune {

/// The last argument of the kernel `attune_gemm_reference` (gemm_reference.cu), which is compiled with this header.
struct GemmReferenceProblem {
  GemmShape shape;
  GemmOperands where;
  double slope = 0;  ///< steepest_slope() of the epilogue's activation; 0: there is no epilogue.
};

/// One block computes a tile of the output of this size, with this number of threads.
inline constexpr int kReferenceTile = 64, kReferenceThreads = 256;

ReferenceKernel gemm_reference_kernel(const GemmShape& shape);

}  // namespace attune
