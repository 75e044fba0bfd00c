// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "tensor/tensor_fill.h"

namespace attune {

/// The argument of the kernel `attune_fill_operand` (operand_fill.cu), which is compiled with this header: writes
/// fill_element() of all places of a tensor.
struct OperandToFill {
  void* data;
  int64_t count;
  TensorFill how;
  uint64_t start;  ///< fill_start() of its seed.
};

/// Threads of a block. Each takes elements in turn, so a grid may have any number of blocks.
inline constexpr int kFillThreads = 256;

}  // namespace attune
