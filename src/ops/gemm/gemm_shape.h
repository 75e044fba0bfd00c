// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "attune/dtype.h"
#include "attune/problem.h"
#include "ops/gemm/gemm_epilogue.h"

namespace attune {

/// A normalised GEMM problem as numbers. C[m,n] = op(A)·op(B) (+ bias[n]) with
/// A: M×K row-major (K×M when trans_a); B: N×K row-major, as a linear layer holds weights: trans_b=1, the default
/// (K×N when trans_b=0). What follows the product: GemmEpilogue.
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  DType in = DType::bf16, out = DType::bf16;
  bool bias = false, trans_a = false, b_is_kn = false;
  bool packed = false;  ///< Packed weights in a candidate's layout (bpreshuffle=1); plain weights are N×K.
  GemmEpilogue epilogue;
  static GemmShape of(const Problem& problem);
  double macs() const noexcept { return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

/// Index of an operand in Launch::operands: a, b, [bias], [residual], [alpha], [beta], [out_scale], c. In brackets:
/// only if the problem has it, else its index means nothing. `residual` has the type and shape of c, and must not
/// overlap it; `alpha`, `beta` and `out_scale` are one fp32 in memory each, read by every call, so that they can change
/// from one call to the next, also of a captured graph. `alpha` and `beta` are operands where the attribute is `any`.
struct GemmOperands {
  size_t a = 0, b = 1, bias = 2, residual = 2, alpha = 2, beta = 2, out_scale = 2, c = 2;
  static GemmOperands of(const GemmShape& shape) noexcept {
    GemmOperands where;
    size_t next = where.bias;
    const auto place = [&](bool is_there) { return is_there ? next++ : next; };
    where.bias = place(shape.bias);
    where.residual = place(shape.epilogue.beta != Factor::zero);
    where.alpha = place(shape.epilogue.alpha == Factor::any);
    where.beta = place(shape.epilogue.beta == Factor::any);
    where.out_scale = place(shape.epilogue.out_scale);
    where.c = next;
    return where;
  }
};

}  // namespace attune
