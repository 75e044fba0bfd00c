// SPDX-License-Identifier: MIT
#include "solvers/jit_cuda/kernel_text.h"

#include <fmt/format.h>

#include "base/error.h"
#include "solvers/jit_cuda/kernel_registers.h"

namespace attune::jit_cuda {

// The folder's texts without their comments, which the build embeds (CMakeLists.txt).
extern const char* const kArgumentsText;
extern const char* const kDeviceFunctionsText;
extern const char* const kTensorCoresText;
extern const char* const kStageFunctionsText;
extern const char* const kLaneFunctionsText;
extern const char* const kRowsText;
extern const char* const kResultsText;
extern const char* const kLastBlockText;
extern const char* const kWholeSumsText;
extern const char* const kSumOfPartsText;
extern const char* const kPartSumsText;
extern const char* const kSumKernelText;
extern const char* const kWarpsText;
extern const char* const kDotLoopText;
extern const char* const kStreamLoopText;
extern const char* const kWarpsKernelText;
extern const char* const kTileText;
extern const char* const kTileCopiesText;
extern const char* const kTileMovesText;
extern const char* const kTileResultsText;
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

/// The definitions of constants, one a line.
class Constants {
 public:
  void number(const char* name, int64_t value) { text_ += fmt::format("constexpr int {} = {};\n", name, value); }
  void flag(const char* name, bool value) { text_ += fmt::format("constexpr bool {} = {};\n", name, value); }
  void bounds(int64_t blocks) {
    text_ += blocks > 0 ? fmt::format("#define ATTUNE_BOUNDS kThreads, {}\n", blocks)
                        : std::string("#define ATTUNE_BOUNDS kThreads\n");
  }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

/// What every text begins with: the arguments, and the types in them.
std::string beginning(const GemmShape& shape) {
  Constants types;
  types.number("kIn", number_of_type(shape.in));
  types.number("kOut", number_of_type(shape.out));
  return std::string(kArgumentsText) + "using attune::jit_cuda::KernelArguments;\n" + types.text();
}

std::string constants_of(const GemmShape& shape, const GemmConfig& config) {
  Constants constants;
  constants.flag("kIsShifted", has_shifted_rows(shape));
  constants.flag("kIsPacked", config.packed);
  constants.flag("kIsSplit", config.split_k > 1);
  if (config.kernel == Kernel::tile) {
    constants.number("kBlockM", config.block_m);
    constants.number("kBlockN", config.block_n);
    constants.number("kBlockK", config.block_k);
    constants.number("kStages", config.stages);
    constants.number("kWarpsM", config.m_warps);
    constants.number("kWarpsN", config.n_warps);
  } else {
    constants.number("kRows", config.rows);
    constants.number("kColumns", config.columns);
    constants.number("kWarps", config.warps);
    constants.number("kDepthWarps", config.depth_warps);
    constants.number("kUnroll", config.unroll);
    constants.bounds(resident_blocks(shape, config));
  }
  return constants.text();
}

/// How the sums of a config become elements of C.
std::string results_of(const GemmConfig& config) {
  std::string text = kResultsText;
  if (config.split_k > 1 || config.blocks > 0) text += kLastBlockText;
  return text + (config.split_k > 1 ? std::string(kSumOfPartsText) + kPartSumsText : kWholeSumsText);
}

std::string kernel_of(const GemmShape& shape, const GemmConfig& config) {
  switch (config.kernel) {
    case Kernel::dot:
      return std::string(kLaneFunctionsText) + kWarpsText + kDotLoopText + kWarpsKernelText;
    case Kernel::stream:
      return std::string(kTensorCoresText) + kWarpsText + kStreamLoopText + kWarpsKernelText;
    case Kernel::tile:
      return std::string(kTensorCoresText) + kStageFunctionsText + kTileText +
             (has_shifted_rows(shape) ? kTileMovesText : kTileCopiesText) + kTileResultsText +
             (config.blocks > 0 ? kTileSharesText : kTilePartsText);
  }
  return {};
}

/// No text needs textures, nor kernels that launch others: NVRTC reads 4 ms of declarations less.
CompileTask task_of(std::string source, const std::string& arch, const char* entry) {
  return {.compiler = "nvrtc", .source = std::move(source), .arch = arch, .options = {"--minimal"}, .entries = {entry}};
}

}  // namespace

CompileTask gemm_task(const GemmShape& shape, const GemmConfig& config, const std::string& arch) {
  return task_of(beginning(shape) + constants_of(shape, config) + kDeviceFunctionsText + kRowsText +
                     results_of(config) + kernel_of(shape, config),
                 arch, kProductEntry);
}

CompileTask sum_task(const GemmShape& shape, const std::string& arch) {
  return task_of(beginning(shape) + kDeviceFunctionsText + kResultsText + kSumOfPartsText + kSumKernelText, arch,
                 kSumEntry);
}

}  // namespace attune::jit_cuda
