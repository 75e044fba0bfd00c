// SPDX-License-Identifier: MIT
#include "solvers/onednn/onednn_library.h"

namespace attune {

const OnednnLibrary& onednn_library() {
  static constexpr OnednnLibrary library{"onednn3", "onednn3.gemm", "oneDNN 3 matmul, every implementation it offers",
                                         "libdnnl.so.3"};
  return library;
}

Support onednn_supports_fp16(const GemmShape& shape) {
  if (!__builtin_cpu_supports("avx512fp16") || !__builtin_cpu_supports("avx512bf16"))
    return Support::no("oneDNN 3 needs AVX512-FP16 for fp16, which this CPU lacks");
  if (shape.bias && shape.out == DType::fp16)
    return Support::no("oneDNN 3.2 adds an fp16 bias to an fp16 result in its reference only");
  return {};
}

}  // namespace attune
