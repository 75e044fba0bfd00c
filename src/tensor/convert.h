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

/// Converts whole arrays between a stored type and float, rounding to nearest, ties to even. Floats overflow as their
/// format says (tensor/narrow_float.h); integers saturate, and NaN becomes 0. `stored` holds stored_bytes(dtype, count)
/// bytes: of a type of four bits two elements a byte, the first in the lower half, the last half of an odd number zero.
void from_float(DType dtype, std::span<const float> values, std::byte* stored);
void to_float(DType dtype, const std::byte* stored, std::span<float> values);
/// Like to_float(), but exact for every type: float has no room for fp64 and large int32.
void to_double(DType dtype, const std::byte* stored, std::span<double> values);

/// Bytes of `count` elements in a row.
constexpr size_t stored_bytes(int bits_per_element, size_t count) noexcept {
  return (count * static_cast<size_t>(bits_per_element) + 7) / 8;
}

}  // namespace attune
