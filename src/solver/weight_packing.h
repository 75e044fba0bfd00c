// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attune/tensor.h"
#include "device/device.h"
#include "solver/solver.h"

namespace attune {

/// The packing of a problem's packed operands into one layout: a block of memory that holds the whole set. Of a product
/// that is the weights alone; of a quantised one, their scales too.
struct WeightPacking {
  /// Where a packed operand is in the block.
  struct Part {
    size_t operand = 0;  ///< Index in Op::tensors().
    uint64_t offset = 0;
  };
  Layout layout;
  uint64_t bytes = 0;       ///< Size of one block.
  std::vector<Part> parts;  ///< In the order of Op::tensors().
  /// Packs into memory of the device. `plain`: one tensor for each part.
  std::function<void(PlainOperands plain, Buffer packed)> pack;
  bool opaque = false;  ///< A library's layout: each copy is packed in place. Other layouts are packed once and copied.
};

/// The packing of a named layout, or of one that the backend offers for the problem; device and backend must outlive
/// it. A named layout is packed on the host; it holds the matrix of weights, and the other operands of the set as they
/// are. Throws unavailable for any other layout, invalid_input for a layout that does not support the weights.
WeightPacking packing_of(const Layout& layout, const Problem& problem, Backend& backend, Device& device);

/// Indices of the operands that are packed ahead.
std::vector<size_t> packed_operands(std::span<const TensorSpec> specs);

}  // namespace attune
