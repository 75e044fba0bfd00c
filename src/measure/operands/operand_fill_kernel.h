// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "tensor/tensor_fill.h"

namespace attune {

/// Argument of the kernel `attune_fill_operand` (operand_fill.cu), which is compiled with this header. The kernel
/// writes fill_element() to all places of a tensor.
struct OperandToFill {
  void* data;
  int64_t count;
  TensorFill how;
  uint64_t start;  ///< fill_start() of its seed.
};

/// Threads per block. Each takes elements in turn, so a grid may have any number of blocks.
inline constexpr int kFillThreads = 256;

}  // namespace attune
