// SPDX-License-Identifier: MIT
// Matrices of narrow floats as bf16, which a library multiplies. On the calling thread's team of OpenMP.
#pragma once
#include <cstdint>

#include "ops/quantised_gemm/quantised_gemm.h"

namespace attune {

/// A matrix of floats of eight or four bits with its scales, row-major.
struct ScaledMatrix {
  DType dtype;
  const void* elements;
  int64_t rows, k;
  const void* scales;  ///< Of blocks: of `scale_type`. Null: the elements are converted as they are.
  DType scale_type;
  ScaleGroups groups;
};

/// Writes the matrix divided by the factor of each row, rounded to bf16. The factor of a row is a power of two near its
/// largest scale, so that no element overflows and one that vanishes does not count; 1 without scales of blocks, when
/// `factors` is not written. Elements of four bits are exact. Requires AVX-512 (F, BW, VL).
void dequantise_to_bf16(const ScaledMatrix& matrix, uint16_t* to, float* factors, int threads);

}  // namespace attune
