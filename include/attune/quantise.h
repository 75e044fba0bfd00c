// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "attune/dtype.h"
#include "attune/export.h"

namespace attune {

// Matrices [rows][k] of floats as the operands of quantised products (docs/formats/quantised.md), row-major. A scale is
// the largest finite magnitude of its group over the largest number of the type, and 1 for a group of zeros. Elements
// are rounded to nearest, ties to even, and saturate. NaN stays NaN in fp8, becomes 0 in int8, and makes the scale of
// its group NaN in MXFP4. Single-threaded; about 3 ns an element. Throw invalid_input for a type that is not named and
// for spans of another size, before anything is written.

/// One scale a row. `dtype`: int8, e4m3fn or e4m3fnuz.
ATTUNE_API void quantise_rows(DType dtype, int64_t rows, int64_t k, std::span<const float> values,
                              std::span<std::byte> elements, std::span<float> scales);
/// One scale.
ATTUNE_API void quantise_tensor(DType dtype, int64_t rows, int64_t k, std::span<const float> values,
                                std::span<std::byte> elements, float& scale);
/// Scales [⌈rows/block_rows⌉][⌈k/block_depth⌉]: blocks of 1×128 for activations, 128×128 for weights.
ATTUNE_API void quantise_blocks(DType dtype, int64_t rows, int64_t k, int64_t block_rows, int64_t block_depth,
                                std::span<const float> values, std::span<std::byte> elements, std::span<float> scales);

/// How the power of two of an MXFP4 group is chosen. `floor`: 2^(⌊log2 largest⌋ − 2), as the Microscaling specification
/// does; numbers above 6 times it saturate. `rceil`: the smallest one with which none saturates.
enum class ExponentRounding : uint8_t { floor, rceil };
/// e2m1 elements, two a byte, each row from a byte on; e8m0 scales [rows][⌈k/32⌉].
ATTUNE_API void quantise_mxfp4(int64_t rows, int64_t k, ExponentRounding rounding, std::span<const float> values,
                               std::span<std::byte> elements, std::span<std::byte> scales);

/// The types and groups of a quantised matrix.
struct QuantisedMatrix {
  DType dtype = DType::e4m3fn;  ///< int8, e4m3fn, e4m3fnuz or e2m1.
  DType scale = DType::fp32;    ///< fp32 or e8m0.
  int64_t rows = 0, k = 0;
  int64_t group_rows = 1, group_depth = 0;  ///< Rows, and elements along k, that share a scale; 0: all.
};
/// Writes each element times its scale, rounded to fp32.
ATTUNE_API void dequantise(const QuantisedMatrix& how, std::span<const std::byte> elements,
                           std::span<const std::byte> scales, std::span<float> values);

}  // namespace attune
