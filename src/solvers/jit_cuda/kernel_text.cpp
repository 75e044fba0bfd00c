// SPDX-License-Identifier: MIT
#include "solvers/jit_cuda/kernel_text.h"

#include <fmt/format.h>

#include "base/error.h"

namespace attune::jit_cuda {

// The folder's texts without their comments, which the build embeds (CMakeLists.txt).
extern const char* const kArgumentsText;
extern const char* const kDeviceFunctionsText;
extern const char* const kRowsText;
extern const char* const kStreamText;
extern const char* const kTileText;
extern const char* const kTilePartsText;
extern const char* const kTileSharesText;

namespace {

/// A type in the texts: rows.cu.
int number_of_type(DType type) {
  switch (type) {
    case DType::fp32:
      return 0;
    case DType::bf16:
      return 1;
    case DType::fp16:
      return 2;
    default:
      fail(ErrorCode::unavailable, "these kernels have no type {}", name(type));
  }
}

std::string constants_of(const GemmShape& shape, const GemmConfig& config) {
  std::string text;
  const auto number = [&](const char* name, int64_t value) {
    text += fmt::format("constexpr int {} = {};\n", name, value);
  };
  const auto flag = [&](const char* name, bool value) {
    text += fmt::format("constexpr bool {} = {};\n", name, value);
  };
  number("kIn", number_of_type(shape.in));
  number("kOut", number_of_type(shape.out));
  flag("kIsShifted", has_shifted_rows(shape));
  flag("kIsPacked", config.packed);
  flag("kIsSplit", config.split_k > 1);
  if (config.kernel == Kernel::tile) {
    number("kBlockM", config.block_m);
    number("kBlockN", config.block_n);
    number("kBlockK", config.block_k);
    number("kStages", config.stages);
    number("kWarpsM", config.m_warps);
    number("kWarpsN", config.n_warps);
  } else {
    flag("kIsMatrix", config.kernel == Kernel::stream);
    number("kRows", config.rows);
    number("kColumns", config.columns);
    number("kWarps", config.warps);
    number("kDepthWarps", config.depth_warps);
    number("kUnroll", config.unroll);
  }
  return text;
}

}  // namespace

CompileTask gemm_task(const GemmShape& shape, const GemmConfig& config, const std::string& arch) {
  CompileTask task = {.compiler = "nvrtc", .source = {}, .arch = arch, .options = {}, .entries = {kProductEntry}};
  task.source = std::string(kArgumentsText) + "using attune::jit_cuda::KernelArguments;\n" +
                constants_of(shape, config) + kDeviceFunctionsText + kRowsText;
  if (config.kernel == Kernel::tile)
    task.source += std::string(kTileText) + (config.blocks > 0 ? kTileSharesText : kTilePartsText);
  else
    task.source += kStreamText;
  if (config.split_k > 1) task.entries.emplace_back(kSumEntry);
  return task;
}

}  // namespace attune::jit_cuda
