// SPDX-License-Identifier: MIT
#include "solver/weight_packing.h"

#include <algorithm>

#include "base/error.h"
#include "ops/op.h"

namespace attune {

size_t weights_operand(std::span<const TensorSpec> specs) {
  const auto found = std::find_if(specs.begin(), specs.end(), [](const TensorSpec& spec) { return spec.role == "b"; });
  ATTUNE_CHECK(found != specs.end(), "an op with packed weights has an operand 'b'");
  return static_cast<size_t>(found - specs.begin());
}

WeightPacking packing_of(const Layout& layout, const Problem& problem, Backend& backend) {
  if (find_named_layout(layout.name) != nullptr) {
    const auto specs = op_of(problem).tensors(problem);
    const TensorSpec& weights = specs[weights_operand(specs)];
    return {layout, packed_bytes(layout, weights),
            [layout, weights](std::span<const std::byte> plain, Buffer packed) {
              pack(layout, weights, plain, {static_cast<std::byte*>(packed.data), packed.bytes});
            },
            false};
  }
  const auto offered = backend.layouts(problem);
  if (std::find(offered.begin(), offered.end(), layout) == offered.end())
    fail(ErrorCode::unavailable, "the library does not offer this layout of the weights: '{}'", layout.name);
  return {layout, backend.packed_bytes(layout, problem),
          [layout, problem, &backend](std::span<const std::byte> plain, Buffer packed) {
            backend.pack(layout, problem, plain, packed);
          },
          true};
}

}  // namespace attune
