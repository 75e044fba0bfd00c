// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

#include "attune/dtype.h"

namespace attune {

// Shared by solvers of cuBLAS and cuBLASLt; `library` is the library's name in messages.

/// Returns the cudaDataType of an operand. Throws unavailable for a type without products that need no scales.
int cublas_type(DType dtype, std::string_view library);
/// Throws for a failed cublasStatus_t, with the library's text for it: unavailable if the library does not support the
/// request, else device.
[[noreturn]] void fail_cublas(int status, std::string_view library, std::string_view action, std::string_view text);

}  // namespace attune
