// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace attune {

inline constexpr int kDotRows = 4;   ///< Rows of each matrix in a block.
inline constexpr int kDotLanes = 8;  ///< Elements that are multiplied at once.

/// Computes kDotRows × kDotRows dot products in double, for references: of rows of `a` with rows of `b`, which lie
/// `stride` elements apart, over `count` elements, a multiple of kDotLanes. Writes `sums` row-major.
void dot_block(const float* a, const float* b, int64_t stride, int64_t count, double* sums);

}  // namespace attune
