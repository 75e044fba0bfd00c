// SPDX-License-Identifier: MIT
// Elements of tensors in kernels.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "attune/dtype.h"

namespace attune {

/// An element as a double: fp32, bf16 or fp16, of which is_kernel_dtype() knows.
__device__ inline double element(DType dtype, const void* data, int64_t index) {
  switch (dtype) {
    case DType::bf16:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[index]);
    case DType::fp16:
      return __half2float(static_cast<const __half*>(data)[index]);
    default:
      return static_cast<const float*>(data)[index];
  }
}

}  // namespace attune
