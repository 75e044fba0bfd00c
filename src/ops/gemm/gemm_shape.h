// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "attune/dtype.h"
#include "attune/problem.h"

namespace attune {

/// A normalised GEMM problem as numbers. C[m,n] = op(A)·op(B) (+ bias[n]) with
/// A: M×K row-major (K×M when trans_a); B: N×K row-major, as a linear layer holds weights: trans_b=1, the default
/// (K×N when trans_b=0).
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  DType in = DType::bf16, out = DType::bf16;
  bool bias = false, trans_a = false, b_is_kn = false;
  bool packed = false;  ///< Packed weights in a candidate's layout (bpreshuffle=1); plain weights are N×K.
  static GemmShape of(const Problem& problem);
  double macs() const noexcept { return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

/// Index of an operand in Launch::operands: a, b, [bias], c.
struct GemmOperands {
  size_t a = 0, b = 1, bias = 2, c = 2;
  static GemmOperands of(const GemmShape& shape) { return {0, 1, 2, shape.bias ? size_t{3} : size_t{2}}; }
};

}  // namespace attune
