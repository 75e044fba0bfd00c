// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "attune/dtype.h"
#include "attune/problem.h"

namespace attune {

/// The scales of one matrix: a group of `rows` rows by `depth` elements along K shares one. 0: all rows, all of K.
struct ScaleGroups {
  int64_t rows = 1, depth = 0;

  int64_t num_rows(int64_t matrix_rows) const noexcept { return rows == 0 ? 1 : (matrix_rows + rows - 1) / rows; }
  int64_t num_columns(int64_t k) const noexcept { return depth == 0 ? 1 : (k + depth - 1) / depth; }
  /// Index of the scale of an element; scales lie row-major.
  int64_t index(int64_t row, int64_t at, int64_t k) const noexcept {
    return (rows == 0 ? 0 : row / rows) * num_columns(k) + (depth == 0 ? 0 : at / depth);
  }
};

/// A normalised quantised product as numbers:
///   c[m,n] = Σ a[m,k]·a_scale(m,k) · b[n,k]·b_scale(n,k) (+ bias[n])
/// a: M×K, b: N×K, both row-major in `in`; a row of a type of four bits starts at a byte. The bias has the type of c.
struct QuantisedGemm {
  int64_t m = 0, n = 0, k = 0;
  DType in = DType::int8, out = DType::bf16;
  DType scale = DType::fp32;
  bool bias = false;
  bool packed = false;  ///< b and its scales are packed in a candidate's layout (bpreshuffle=1).
  ScaleGroups a_scales, b_scales;
  bool has_blocks() const noexcept { return a_scales.depth != 0; }
  static QuantisedGemm of(const Problem& problem);
};

/// Index of an operand in Launch::operands: a, b, a_scale, b_scale, [bias], c.
struct QuantisedOperands {
  size_t a = 0, b = 1, a_scale = 2, b_scale = 3, bias = 4, c = 4;
  static QuantisedOperands of(const QuantisedGemm& shape) noexcept { return {.c = shape.bias ? size_t{5} : size_t{4}}; }
};

}  // namespace attune
