// SPDX-License-Identifier: MIT
#pragma once
#include "attune/dtype.h"
#include "measure/comparison/comparison_part.h"

namespace attune {

/// Argument of the kernel `attune_compare` (comparison.cu), which is compiled with this header. Addresses are of the
/// device's memory.
struct ComparisonInput {
  const void* got;  ///< Of a type that is_kernel_dtype() knows.
  const double* values;
  const double* scales;
  int64_t count;
  DType dtype;
  ElementBounds bounds;
};

/// Threads per block of `attune_compare`.
inline constexpr int kComparisonThreads = 256;

}  // namespace attune
