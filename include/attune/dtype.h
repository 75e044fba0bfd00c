// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "attune/export.h"

namespace attune {

/// Element types. Eight-bit floats are named exactly: `e4m3fn` (OCP) and `e4m3fnuz` (AMD) are different numbers.
enum class DType : uint8_t { fp64, fp32, bf16, fp16, int32, int8, e4m3fn, e4m3fnuz, e5m2, e5m2fnuz, e2m1, e8m0, int4 };
inline constexpr int kNumDTypes = 13;

ATTUNE_API std::string_view name(DType dtype) noexcept;  ///< `bf16`: the spelling in a problem's key.
/// Accepts Attune's names and the spellings found in tables: `torch.bfloat16`, `float32`, `f16`, `i8` … Ignores
/// surrounding blanks. Empty for an unknown type.
ATTUNE_API std::optional<DType> parse_dtype(std::string_view text) noexcept;
/// Spelling in tables and PyTorch: `torch.bfloat16`.
ATTUNE_API std::string_view torch_name(DType dtype) noexcept;
ATTUNE_API int bits(DType dtype) noexcept;  ///< Size of an element: 4 for e2m1 and int4, 8, 16, 32 or 64.

}  // namespace attune
