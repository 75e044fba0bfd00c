// SPDX-License-Identifier: MIT
// Arguments of the kernels in padding_kernels.cu, which are compiled with this header.
#pragma once
#include <cstdint>

#include "attune/dtype.h"
#include "ops/epilogue.h"

namespace attune {

/// `attune_copy_rows`: a matrix becomes one with rows of another length. What the source lacks is zero. Lengths are in
/// units of 2 bytes; both matrices begin at a multiple of 16 bytes and have less than 2^31 units.
struct RowCopy {
  const void* from = nullptr;
  void* to = nullptr;
  uint32_t from_length = 0, from_rows = 0;  ///< Units of a row, and rows.
  uint32_t to_length = 0, to_rows = 0;
  /// Units of a row that are copied: no more than either length.
  uint32_t copied_length = 0;
};

/// `attune_tail_columns`: columns first_column … n-1 of C = act(A·Bᵀ + bias), of which there are less than 8. A: m×k,
/// B: n×k, row-major, of one 16-bit type; k is a multiple of 8.
struct TailColumns {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* bias = nullptr;  ///< n elements of A's type; null: there is none.
  void* c = nullptr;
  int64_t m = 0, n = 0, k = 0, first_column = 0;
  DType in = DType::bf16, out = DType::bf16;
  Activation act = Activation::none;  ///< none, relu or gelu_tanh
};

inline constexpr uint32_t kCopyThreads = 256, kUnitsPerThread = 8;
/// A block computes this number of rows; its warps share K.
inline constexpr uint32_t kTailThreads = 256, kTailRows = 16;

}  // namespace attune
