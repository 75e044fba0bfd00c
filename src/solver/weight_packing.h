// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "attune/tensor.h"
#include "solver/solver.h"

namespace attune {

/// How the weights of one problem get into one layout.
struct WeightPacking {
  Layout layout;
  uint64_t bytes = 0;  ///< Of one packed copy.
  std::function<void(std::span<const std::byte> plain, Buffer packed)> pack;
  bool opaque = false;  ///< Of a library: each copy is packed where it lies. Others are packed once and copied.
};

/// The packing of a named layout, or of one that the backend offers for the problem; the backend must outlive it.
/// Throws unavailable for a layout that is neither, invalid_input for one that does not take the weights.
WeightPacking packing_of(const Layout& layout, const Problem& problem, Backend& backend);

/// Index of the weights among an op's operands: the one whose role is `b`.
size_t weights_operand(std::span<const TensorSpec> specs);

}  // namespace attune
