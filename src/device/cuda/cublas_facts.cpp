// SPDX-License-Identifier: MIT
#include "device/cuda/cublas_facts.h"

#include <cublas_api.h>

#include "base/error.h"

namespace attune {

int cublas_type(DType dtype, std::string_view library) {
  switch (dtype) {
    case DType::fp32:
      return CUDA_R_32F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::fp16:
      return CUDA_R_16F;
    default:
      fail(ErrorCode::unavailable, "{} has no product of the type {}", library, name(dtype));
  }
}

void fail_cublas(int status, std::string_view library, std::string_view action, std::string_view text) {
  const bool is_unsupported = status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
                              status == CUBLAS_STATUS_ARCH_MISMATCH;
  fail(is_unsupported ? ErrorCode::unavailable : ErrorCode::device, "{} cannot {}: {}", library, action, text);
}

}  // namespace attune
