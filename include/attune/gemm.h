// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "attune/dtype.h"
#include "attune/key.h"

namespace attune {

/// The key of a typed call of a matrix product: C[m,n] = A[m,k]·B (+ bias), repeated `batch` times. A plain value,
/// filled in by the caller; no text, no heap. A batch, a bias or an order of operands for which the op has no attribute
/// makes a key of no problem; other fields without one are ignored.
struct GemmKey {
  enum Flag : uint8_t {
    bias = 1,
    scale_ab = 2,
    bpreshuffle = 4,  ///< The weights are packed.
    trans_a = 8,      ///< A is stored [k][m].
    b_is_kn = 16      ///< B is stored [k][n]; without it [n][k], as a linear layer holds its weights.
  };
  OpId op = OpId::gemm_a16w16;
  int64_t m = 0, n = 0, k = 0, batch = 1;
  DType in = DType::bf16;   ///< Type of A and B; type of B where an op has two (`q_dtype_w`).
  DType out = DType::bf16;  ///< Type of C.
  uint8_t flags = 0;
  bool operator==(const GemmKey&) const = default;
};

}  // namespace attune
