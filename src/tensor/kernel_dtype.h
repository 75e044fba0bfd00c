// SPDX-License-Identifier: MIT
#pragma once
#include "attune/dtype.h"

namespace attune {

/// Whether kernels read elements of this type (tensor/kernel_element.cuh).
constexpr bool is_kernel_dtype(DType dtype) noexcept {
  return dtype == DType::fp32 || dtype == DType::bf16 || dtype == DType::fp16;
}

}  // namespace attune
