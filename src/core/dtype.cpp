// SPDX-License-Identifier: MIT
#include "attune/dtype.h"

#include <array>

#include "base/text.h"

namespace attune {
namespace {

struct Row {
  DType dtype;
  int bits;
  std::string_view name, torch;
  std::array<std::string_view, 3> aliases;
};

constexpr Row kRows[] = {
    {DType::fp64, 64, "fp64", "torch.float64", {"float64", "f64", "double"}},
    {DType::fp32, 32, "fp32", "torch.float32", {"float32", "f32", "float"}},
    {DType::bf16, 16, "bf16", "torch.bfloat16", {"bfloat16", "", ""}},
    {DType::fp16, 16, "fp16", "torch.float16", {"float16", "f16", "half"}},
    {DType::int32, 32, "int32", "torch.int32", {"i32", "", ""}},
    {DType::int8, 8, "int8", "torch.int8", {"i8", "", ""}},
    {DType::e4m3fn, 8, "e4m3fn", "torch.float8_e4m3fn", {"float8_e4m3fn", "", ""}},
    {DType::e4m3fnuz, 8, "e4m3fnuz", "torch.float8_e4m3fnuz", {"float8_e4m3fnuz", "", ""}},
    {DType::e5m2, 8, "e5m2", "torch.float8_e5m2", {"float8_e5m2", "", ""}},
    {DType::e5m2fnuz, 8, "e5m2fnuz", "torch.float8_e5m2fnuz", {"float8_e5m2fnuz", "", ""}},
    {DType::e2m1, 4, "e2m1", "torch.float4_e2m1fn_x2", {"float4_e2m1fn_x2", "fp4", ""}},
    {DType::e8m0, 8, "e8m0", "torch.float8_e8m0fnu", {"float8_e8m0fnu", "", ""}},
    {DType::int4, 4, "int4", "torch.int4", {"i4", "", ""}},
};
static_assert(std::size(kRows) == kNumDTypes);

const Row& row(DType dtype) noexcept { return kRows[static_cast<size_t>(dtype)]; }

}  // namespace

std::string_view name(DType dtype) noexcept { return row(dtype).name; }
std::string_view torch_name(DType dtype) noexcept { return row(dtype).torch; }
int bits(DType dtype) noexcept { return row(dtype).bits; }

std::optional<DType> parse_dtype(std::string_view text) noexcept {
  text = trim(text);
  if (text.empty()) return std::nullopt;
  for (const Row& candidate : kRows) {
    if (text == candidate.name || text == candidate.torch) return candidate.dtype;
    for (const auto alias : candidate.aliases) {
      if (text == alias) return candidate.dtype;
    }
  }
  return std::nullopt;
}

}  // namespace attune
