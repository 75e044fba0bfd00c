// SPDX-License-Identifier: MIT
#include "solvers/triton/kernel_tasks.h"

#include <fmt/format.h>

namespace attune::triton {

// The folder's texts without their comments, which the build embeds (CMakeLists.txt).
extern const char* const kGemmText;
extern const char* const kSumText;

namespace {

constexpr int64_t kVectorBytes = 16;

/// Options of compile/triton.
class TaskOptions {
 public:
  void pointer(const char* name, DType type) { add("argument={}:*{}:{}", name, attune::name(type), kVectorBytes); }
  /// `divisor`: what the value is a multiple of.
  void number(const char* name, const char* type, int64_t divisor = 1) {
    if (divisor > 1)
      add("argument={}:{}:{}", name, type, divisor);
    else
      add("argument={}:{}", name, type);
  }
  void constant(const char* name, int64_t value) { add("constant={}:{}", name, value); }
  void flag(const char* name, bool value) { add("constant={}:{}", name, value ? "True" : "False"); }
  void launch(int64_t num_warps, int64_t num_stages) {
    add("num-warps={}", num_warps);
    add("num-stages={}", num_stages);
  }
  std::vector<std::string> take() { return std::move(texts_); }

 private:
  template <typename... Values>
  void add(fmt::format_string<Values...> form, Values&&... values) {
    texts_.push_back("--" + fmt::format(form, std::forward<Values>(values)...));
  }
  std::vector<std::string> texts_;
};

CompileTask task_of(const char* source, TaskOptions options, const std::string& arch, const char* entry) {
  return {.compiler = "triton", .source = source, .arch = arch, .options = options.take(), .entries = {entry}};
}

}  // namespace

CompileTask gemm_task(const GemmShape& shape, const GemmConfig& config, const std::string& arch) {
  const int64_t vector = kVectorBytes * 8 / static_cast<int64_t>(bits(shape.in));
  const bool has_whole_rows =
      shape.n % vector == 0 && shape.k % vector == 0 && (!shape.trans_a || shape.m % vector == 0);
  const int64_t divisor = has_whole_rows ? vector : 1;
  const bool is_split = config.split_k > 1;
  TaskOptions options;
  options.pointer("a", shape.in);
  options.pointer("b", shape.in);
  options.pointer("bias", shape.in);
  options.pointer("c", is_split ? DType::fp32 : shape.out);
  options.number("m", "i32", shape.trans_a ? divisor : 1);
  options.number("n", "i32", divisor);
  options.number("k", "i32", divisor);
  options.number("k_of_part", "i32", kVectorBytes);  // A multiple of BLOCK_SIZE_K.
  options.number("group_size_m", "i32");
  options.flag("A_IS_KM", shape.trans_a);
  options.flag("B_IS_KN", shape.b_is_kn);
  options.flag("HAS_BIAS", shape.bias && !is_split);
  options.flag("IS_SPLIT", is_split);
  options.flag("MASKS_K", Division(shape, config).masks_k);
  options.constant("BLOCK_SIZE_M", config.block_m);
  options.constant("BLOCK_SIZE_N", config.block_n);
  options.constant("BLOCK_SIZE_K", config.block_k);
  options.launch(config.num_warps, config.num_stages);
  return task_of(kGemmText, std::move(options), arch, kGemmEntry);
}

CompileTask sum_task(const GemmShape& shape, const std::string& arch) {
  TaskOptions options;
  options.pointer("sums", DType::fp32);
  options.pointer("bias", shape.in);
  options.pointer("c", shape.out);
  options.number("elements", "i64");
  options.number("n", "i32");
  options.number("parts", "i32");
  options.flag("HAS_BIAS", shape.bias);
  options.constant("BLOCK_SIZE", kSumBlock);
  options.launch(kSumWarps, 1);
  return task_of(kSumText, std::move(options), arch, kSumEntry);
}

}  // namespace attune::triton
