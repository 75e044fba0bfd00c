// SPDX-License-Identifier: MIT
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "attune/dtype.h"

namespace attune {

/// Round to nearest, ties to even; NaN stays NaN.
inline uint16_t to_bf16(float value) noexcept {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
inline float from_bf16(uint16_t value) noexcept { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

/// Converts whole arrays between a stored type (fp64, fp32, bf16, fp16) and float. `stored` holds values.size()·bits/8
/// bytes. Throws invalid_input for another type.
void from_float(DType dtype, std::span<const float> values, std::byte* stored);
void to_float(DType dtype, const std::byte* stored, std::span<float> values);

/// The largest relative error of rounding to nearest: 2^-24 for fp32, 2^-11 for fp16, 2^-8 for bf16.
double unit_roundoff(DType dtype);

}  // namespace attune
