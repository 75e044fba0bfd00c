// SPDX-License-Identifier: MIT
#include "solver/weight_packing.h"

#include <algorithm>

#include "base/error.h"
#include "device/host_bytes.h"
#include "ops/op.h"

namespace attune {
namespace {

constexpr uint64_t kPartAlignment = 64;

uint64_t aligned(uint64_t offset) { return (offset + kPartAlignment - 1) / kPartAlignment * kPartAlignment; }

/// The first matrix of the set is packed, the others are copied.
WeightPacking packing_in_named_layout(const Layout& layout, const std::vector<TensorSpec>& set, WeightPacking packing,
                                      DeviceMemory& memory) {
  uint64_t end = packed_bytes(layout, set.front());
  for (size_t i = 1; i < set.size(); ++i) {
    packing.parts[i].offset = aligned(end);
    end = packing.parts[i].offset + set[i].bytes();
  }
  packing.bytes = end;
  packing.pack = [layout, set, parts = packing.parts, &memory](PlainOperands plain, Buffer packed) {
    const HostBytes weights(memory, plain.front());
    HostBytes matrix(memory, packed.part(0, packed_bytes(layout, set.front())), HostBytes::Contents::unset);
    pack(layout, set.front(), weights.bytes(), matrix.bytes());
    matrix.store();
    for (size_t i = 1; i < set.size(); ++i)
      memory.copy(packed.part(parts[i].offset, 0).data, plain[i].data, plain[i].bytes);
  };
  return packing;
}

}  // namespace

std::vector<size_t> packed_operands(std::span<const TensorSpec> specs) {
  std::vector<size_t> packed;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].is_packed) packed.push_back(i);
  }
  return packed;
}

WeightPacking packing_of(const Layout& layout, const Problem& problem, Backend& backend, Device& device) {
  const auto specs = op_of(problem).tensors(problem);
  WeightPacking packing{.layout = layout};
  std::vector<TensorSpec> set;
  for (const size_t operand : packed_operands(specs)) {
    packing.parts.push_back({operand, 0});
    set.push_back(specs[operand]);
  }
  ATTUNE_CHECK(!set.empty(), "a problem with packed weights has packed operands: {}", problem.key());
  if (find_named_layout(layout.name) != nullptr)
    return packing_in_named_layout(layout, set, std::move(packing), device.memory());
  OpaqueLayouts* const own = backend.opaque_layouts();
  const auto offered = own == nullptr ? std::vector<Layout>() : own->layouts(problem);
  if (std::find(offered.begin(), offered.end(), layout) == offered.end())
    fail(ErrorCode::unavailable, "the library does not offer this layout of the weights: '{}'", layout.name);
  packing.bytes = own->packed_bytes(layout, problem);
  const auto offsets = own->packed_offsets(layout, problem);
  ATTUNE_CHECK(offsets.size() == set.size(), "the layout '{}' holds {} operands of {}", layout.name, offsets.size(),
               set.size());
  for (size_t i = 0; i < offsets.size(); ++i) packing.parts[i].offset = offsets[i];
  packing.pack = [layout, problem, own](PlainOperands plain, Buffer packed) {
    own->pack(layout, problem, plain, packed);
  };
  packing.opaque = true;
  return packing;
}

}  // namespace attune
