// SPDX-License-Identifier: MIT
#include "solvers/jit_cuda/gemm_config.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/candidate.h"

namespace attune::jit_cuda {
namespace {

/// Number of the name in a list. Throws invalid_input.
template <typename Enumeration, size_t kSize>
Enumeration named(const std::string_view (&names)[kSize], std::string_view name) {
  const auto* const found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) fail(ErrorCode::invalid_input, "jit_cuda.gemm has no kernel or reduction '{}'", name);
  return static_cast<Enumeration>(found - std::begin(names));
}

template <typename Enumeration, size_t kSize>
std::string name_of(const std::string_view (&names)[kSize], Enumeration value) {
  return std::string(names[static_cast<size_t>(value)]);
}

constexpr const char* kBlocks = "blocks";

struct Number {
  const char* name;
  int64_t GemmConfig::*member;
};
constexpr Number kStreamNumbers[] = {{"rows", &GemmConfig::rows},
                                     {"columns", &GemmConfig::columns},
                                     {"warps", &GemmConfig::warps},
                                     {"depth_warps", &GemmConfig::depth_warps},
                                     {"unroll", &GemmConfig::unroll}};
constexpr Number kTileNumbers[] = {{"block_m", &GemmConfig::block_m}, {"block_n", &GemmConfig::block_n},
                                   {"block_k", &GemmConfig::block_k}, {"stages", &GemmConfig::stages},
                                   {"m_warps", &GemmConfig::m_warps}, {"n_warps", &GemmConfig::n_warps},
                                   {"group_m", &GemmConfig::group_m}};

/// `has_shares`: the config names blocks that share all steps, in place of parts of k.
std::vector<Number> numbers_of(Kernel kernel, bool has_shares) {
  std::vector<Number> numbers(std::begin(kStreamNumbers), std::end(kStreamNumbers));
  if (kernel == Kernel::tile) numbers.assign(std::begin(kTileNumbers), std::end(kTileNumbers));
  if (kernel == Kernel::tile && has_shares)
    numbers.push_back({kBlocks, &GemmConfig::blocks});
  else
    numbers.push_back({"split_k", &GemmConfig::split_k});
  return numbers;
}

}  // namespace

GemmConfig GemmConfig::of(const Config& config) {
  GemmConfig one;
  one.kernel = named<Kernel>(kKernels, config.text("kernel"));
  for (const Number& number : numbers_of(one.kernel, config.has(kBlocks)))
    one.*number.member = config.integer(number.name);
  if (one.split_k > 1) one.reduction = named<Reduction>(kReductions, config.text("reduce"));
  if (config.has(kLayoutParameter)) {
    one.packed = config.text(kLayoutParameter) == kPackedLayout;
    if (!one.packed)
      fail(ErrorCode::invalid_input, "jit_cuda.gemm reads no weights in the layout '{}'",
           config.text(kLayoutParameter));
  }
  return one;
}

Config GemmConfig::text() const {
  std::vector<std::pair<std::string, Value>> values = {{"kernel", name_of(kKernels, kernel)}};
  for (const Number& number : numbers_of(kernel, blocks > 0)) values.emplace_back(number.name, this->*number.member);
  if (split_k > 1) values.emplace_back("reduce", name_of(kReductions, reduction));
  if (packed) values.emplace_back(kLayoutParameter, kPackedLayout);
  return Config(std::move(values));
}

int64_t GemmConfig::shared_bytes() const noexcept {
  constexpr int64_t kFloat = sizeof(float), kElement = 2;
  // The sums of its warps, and a flag.
  if (kernel != Kernel::tile) return (depth_warps * rows * tile_columns() + 1) * kFloat;
  // The stages, and later the tile, whose rows are longer than in C.
  constexpr int64_t kRowGap = 8;
  return std::max(stages * (block_m + block_n) * block_k * kElement, block_m * (block_n + kRowGap) * kFloat);
}

bool has_shifted_rows(const GemmShape& shape) noexcept {
  const int64_t vector = shape.in == DType::fp32 ? 4 : 8;
  return shape.k % vector != 0;
}

}  // namespace attune::jit_cuda
