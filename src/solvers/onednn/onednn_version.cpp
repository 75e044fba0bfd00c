// SPDX-License-Identifier: MIT
#include <oneapi/dnnl/dnnl_version.h>

#include "solvers/onednn/onednn_library.h"

namespace attune {

static_assert(DNNL_VERSION_MAJOR == 2 || DNNL_VERSION_MAJOR == 3, "the API of another version of oneDNN differs");

namespace {

/// Tested are 2.6, 3.2 and 3.7: what changed after 3.2 is taken to have changed at once.
constexpr bool kIsAfter32 = DNNL_VERSION_MAJOR == 3 && DNNL_VERSION_MINOR > 2;

}  // namespace

std::string_view onednn_file() { return DNNL_VERSION_MAJOR == 2 ? "libdnnl.so.2" : "libdnnl.so.3"; }

Support onednn_supports_fp16(const GemmShape& shape) {
  if (DNNL_VERSION_MAJOR == 2) return Support::no("oneDNN 2 does not support fp16 on a CPU");
  if (!__builtin_cpu_supports("avx512fp16") || !__builtin_cpu_supports("avx512bf16"))
    return Support::no("oneDNN 3 needs AVX512-FP16 for fp16, which this CPU lacks");
  if (shape.bias && shape.out == DType::fp16)
    return Support::no("oneDNN 3.2 adds an fp16 bias to an fp16 result in its reference only");
  return {};
}

Support onednn_supports_activation(Activation act) {
  if (kIsAfter32 && act == Activation::gelu)
    return Support::no("does not support act=gelu: oneDNN 3.7 computes NaN as gelu of Inf");
  return {};
}

uint64_t onednn_primitive_bytes(std::string_view implementation) {
  constexpr uint64_t kOfABrgemm = (kIsAfter32 ? 256 : 128) * 1024, kOfAnAmxBrgemm = kOfABrgemm / 2 * 3;
  constexpr uint64_t kOfAnother = 24 * 1024;
  if (!implementation.starts_with("brg")) return kOfAnother;
  return implementation.find("amx") == std::string_view::npos ? kOfABrgemm : kOfAnAmxBrgemm;
}

}  // namespace attune
