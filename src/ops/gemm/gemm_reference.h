// SPDX-License-Identifier: MIT
#pragma once
#include "ops/gemm/gemm_op.h"

namespace attune {

/// C in double from the stored inputs, and the scale ‖a_row‖·‖b_row‖/√K of each element: the typical size of such a dot
/// product, against which rounding errors are judged (cheaper than Σ|a·b| and never smaller than it divided by √K).
/// `out` holds all M rows; only `rows` are written.
void naive_gemm(const GemmShape& shape, RowRange rows, const HostTensors& tensors, Reference& out);
/// The same by another path: operands widened into panels, blocked for the caches, vectorised by the compiler.
void fast_gemm(const GemmShape& shape, RowRange rows, const HostTensors& tensors, Reference& out);

}  // namespace attune
