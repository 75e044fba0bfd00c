// SPDX-License-Identifier: MIT
#pragma once
#include "ops/gemm/gemm_shape.h"
#include "ops/op.h"

namespace attune {

/// Computes C in double from the stored inputs, and the scale ‖a_row‖·‖b_row‖/√K of each element: the typical size of
/// such a dot product, relative to which rounding errors are judged (cheaper than Σ|a·b|, and never smaller than
/// Σ|a·b|/√K). With an epilogue the scale is of the result: the product's, times the steepest slope of the activation
/// and the factors, and room for the rounding of each further step.
void naive_gemm(const GemmShape& shape, const HostTensors& tensors, const ReferencePart& out);
/// Like naive_gemm(), by an independent path: operands widened into panels, blocked for the caches, vectorised by the
/// compiler, and activations by other formulas.
void fast_gemm(const GemmShape& shape, const HostTensors& tensors, const ReferencePart& out);

}  // namespace attune
