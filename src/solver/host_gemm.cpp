// SPDX-License-Identifier: MIT
#include "solver/host_gemm.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ops/gemm/gemm_op.h"

namespace attune {

namespace {

Support lacks(std::string_view what, std::string_view attribute, std::string_view value) {
  return Support::no(fmt::format("does not compute {}, {}={}", what, attribute, value));
}

}  // namespace

Support supports_epilogue(const GemmShape& shape, EpilogueParts parts) {
  const GemmEpilogue& asked = shape.epilogue;
  if (asked.act != Activation::none && !parts.act)
    return lacks("the activation", "act", kActivations[static_cast<size_t>(asked.act)]);
  if (asked.alpha != Factor::one && !parts.alpha)
    return lacks("a factor of the product", "alpha", kFactors[static_cast<size_t>(asked.alpha)]);
  if (asked.beta != Factor::zero && !parts.beta)
    return lacks("a residual", "beta", kFactors[static_cast<size_t>(asked.beta)]);
  if (asked.out_scale && !parts.out_scale) return lacks("a scale of the result", "out_scale", "1");
  return {};
}

Support supports_host_gemm(const Problem& problem, const DeviceInfo& device, WeightForms weights, EpilogueParts parts) {
  if (device.kind != "host") return Support::no("runs on a host only");
  if (problem.op() != "gemm_a16w16") return Support::no("computes gemm_a16w16 only");
  if (problem.integer_or("scale_ab", 0)) return Support::no("does not support scales");
  if (weights == WeightForms::plain && problem.integer_or("bpreshuffle", 0)) {
    return Support::no("supports plain weights only, these are packed ahead (bpreshuffle=1)");
  }
  return supports_epilogue(GemmShape::of(problem), parts);
}

Support supports_host_sgemm(const Problem& problem, const DeviceInfo& device) {
  if (const Support support = supports_host_gemm(problem, device); !support.yes) return support;
  const auto shape = GemmShape::of(problem);
  if (shape.in != DType::fp32 || shape.out != DType::fp32) return Support::no("supports fp32 in and out only");
  return {};
}

int thread_count(const Config& config, const DeviceInfo& device) {
  const int64_t threads = config.integer("threads");
  if (threads < 1 || threads > device.num_units) {
    fail(ErrorCode::unavailable, "this device has 1 to {} threads, the config asks for {}", device.num_units, threads);
  }
  return static_cast<int>(threads);
}

}  // namespace attune
