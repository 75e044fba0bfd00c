// SPDX-License-Identifier: MIT
// What surrounds a library's quantised product: before it the conversion of int8 to bf16, behind it the scales and the
// bias. Both run on the calling thread's team of OpenMP, on `threads` threads.
#pragma once
#include <cstdint>

#include "ops/quantised_gemm/quantised_gemm.h"

namespace attune {

/// Converts `count` int8 to bf16, which represents each exactly.
void convert_to_bf16(const int8_t* from, uint16_t* to, int64_t count, int threads);

/// The operands of c[m,n] = sums[m,n] · a_scale · b_scale (+ bias[n]).
struct ScaledSums {
  const QuantisedGemm& shape;
  const void* sums;  ///< M×N int32, or fp32 if `is_float`.
  bool is_float;
  const float *a_scale, *b_scale;
  const void* bias;  ///< Of the type of c; null: none.
  void* c;
  /// Applies the scales in double, where one alone may overflow a float. Requires: is_float.
  bool in_double = false;
};

/// Computes c in bf16 or fp16.
void scale_sums(const ScaledSums& call, int threads);

}  // namespace attune
