// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "attune/tensor.h"
#include "solver/solver.h"

namespace attune {

/// The packing of one problem's weights into one layout.
struct WeightPacking {
  Layout layout;
  uint64_t bytes = 0;  ///< Size of one packed copy.
  std::function<void(std::span<const std::byte> plain, Buffer packed)> pack;
  bool opaque = false;  ///< A library's layout: each copy is packed in place. Other layouts are packed once and copied.
};

/// The packing of a named layout, or of one that the backend offers for the problem; the backend must outlive it.
/// Throws unavailable for any other layout, invalid_input for a layout that does not support the weights.
WeightPacking packing_of(const Layout& layout, const Problem& problem, Backend& backend);

/// Index of the weights among an op's operands: the operand with role `b`.
size_t weights_operand(std::span<const TensorSpec> specs);

}  // namespace attune
