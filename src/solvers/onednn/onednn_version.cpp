// SPDX-License-Identifier: MIT
#include <oneapi/dnnl/dnnl_version.h>

#include "solvers/onednn/onednn_library.h"

namespace attune {

static_assert(DNNL_VERSION_MAJOR == 2 || DNNL_VERSION_MAJOR == 3, "the API of another version of oneDNN differs");

std::string_view onednn_file() { return DNNL_VERSION_MAJOR == 2 ? "libdnnl.so.2" : "libdnnl.so.3"; }

Support onednn_supports_fp16(const GemmShape& shape) {
  if (DNNL_VERSION_MAJOR == 2) return Support::no("oneDNN 2 does not support fp16 on a CPU");
  if (!__builtin_cpu_supports("avx512fp16") || !__builtin_cpu_supports("avx512bf16"))
    return Support::no("oneDNN 3 needs AVX512-FP16 for fp16, which this CPU lacks");
  if (shape.bias && shape.out == DType::fp16)
    return Support::no("oneDNN 3.2 adds an fp16 bias to an fp16 result in its reference only");
  return {};
}

}  // namespace attune
