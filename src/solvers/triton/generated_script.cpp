// SPDX-License-Identifier: MIT
#include "solvers/triton/generated_script.h"

#include <fmt/format.h>

#include "ops/gemm/gemm_shape.h"
#include "solvers/triton/gemm_space.h"

namespace attune::triton {

// Texts of kernels/, which the build embeds (CMakeLists.txt).
extern const char* const kGemmText;
extern const char* const kSumText;
extern const char* const kScriptText;

namespace {

/// The type's name in PyTorch.
std::string_view python_type(DType type) {
  if (type == DType::fp16) return "torch.float16";
  return type == DType::bf16 ? "torch.bfloat16" : "torch.float32";
}

/// Relative error in the Frobenius norm of a right product.
double error_limit(DType type) { return type == DType::fp32 ? 1e-5 : type == DType::fp16 ? 2e-3 : 1e-2; }

std::string_view python(bool value) { return value ? "True" : "False"; }

/// The start of the script's `configStr`; the rest is of AMD's compiler.
std::string config_text(const GemmConfig& one) {
  return fmt::format("BM{}_BN{}_BK{}_GM{}_SK{}_nW{}_nS{}", one.block_m, one.block_n, one.block_k, one.group_m,
                     one.split_k, one.num_warps, one.num_stages);
}

}  // namespace

KeptScript generated_script(const Problem& problem, std::span<const TimedConfig> configs) {
  const auto shape = GemmShape::of(problem);
  std::string text = fmt::format(
      "# Measured kernels, the fastest first. Run it with a Python that has PyTorch and Triton; --help lists options.\n"
      "{}{}{}\n"
      "M, N, K = {}, {}, {}\n"
      "A_IS_KM, B_IS_KN, HAS_BIAS = {}, {}, {}\n"
      "IN, OUT, LIMIT = {}, {}, {}\n",
      kGemmText, kSumText, kScriptText, shape.m, shape.n, shape.k, python(shape.trans_a), python(shape.b_is_kn),
      python(shape.bias), python_type(shape.in), python_type(shape.out), error_limit(shape.out));
  std::string names;
  for (const TimedConfig& timed : configs) {
    const auto one = GemmConfig::of(timed.config);
    const std::string name = "matmul_kernel_" + config_text(one);
    text += fmt::format(
        "\n\n# {:.2f} us{}\ndef {}(a, b, bias, c):\n    return launched(a, b, bias, c, {}, {}, {}, {}, {}, {}, {})\n",
        timed.us, timed.files.empty() ? "" : ", its files are in kernels/" + timed.files, name, one.block_m,
        one.block_n, one.block_k, one.group_m, one.split_k, one.num_warps, one.num_stages);
    names += fmt::format("        {},\n", name);
  }
  text += fmt::format("\n\nif __name__ == \"__main__\":\n    main([\n{}    ])\n", names);
  return {.name = fmt::format("generated_kernel{}{}{}.py", shape.m, shape.n, shape.k), .text = std::move(text)};
}

}  // namespace attune::triton
