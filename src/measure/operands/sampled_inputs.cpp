// SPDX-License-Identifier: MIT
#include "measure/operands/sampled_inputs.h"

#include <cstring>
#include <set>
#include <utility>

#include "base/error.h"
#include "tensor/all_cores.h"
#include "tensor/fill_element.h"
#include "tensor/random_fill.h"

namespace attune {

SampledInputs::Pages::Pages(uint64_t size) : data(map_pages(size)), bytes(size) {
  if (data == nullptr)
    fail(ErrorCode::device, "not enough memory of the host to check a reference, stop other programs: {} MB needed",
         size >> 20);
}

SampledInputs::Pages::Pages(Pages&& other) noexcept : data(std::exchange(other.data, nullptr)), bytes(other.bytes) {}

SampledInputs::SampledInputs(const Op& op, const Problem& problem, Distribution distribution, uint64_t seed,
                             std::span<const Element> elements) {
  const auto specs = op.tensors(problem);
  for (size_t i = 0; i + 1 < specs.size(); ++i) inputs_.emplace_back(specs[i].bytes());
  const auto fills = op.kernels()->fills(problem, distribution, seed);
  // Elements of one row share stretches of an operand. Each stretch is written once, so that no two cores write the
  // same place.
  std::set<OperandStretch> needed;
  for (const auto& [row, column] : elements) {
    const auto read = op.kernels()->inputs_of(problem, row, column);
    needed.insert(read.begin(), read.end());
  }
  const std::vector<OperandStretch> stretches(needed.begin(), needed.end());
  over_all_cores(std::ssize(stretches), [&](int64_t begin, int64_t end) {
    for (const OperandStretch& one :
         std::span(stretches).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin))) {
      const TensorFill& how = fills[one.operand];
      const uint64_t start = fill_start(how.seed);
      auto* const data = static_cast<std::byte*>(inputs_[one.operand].data);
      const auto size = static_cast<size_t>(bits(how.dtype)) / 8;
      for (int64_t i = 0; i < one.count; ++i) {
        const auto index = static_cast<uint64_t>(one.first + i * one.stride);
        const uint32_t element = fill_element(how, start, index);
        std::memcpy(data + index * size, &element, size);  // The lower bytes come first.
      }
    }
  });
}

HostTensors SampledInputs::tensors() const {
  HostTensors tensors;
  for (const Pages& one : inputs_) tensors.operands.emplace_back(static_cast<std::byte*>(one.data), one.bytes);
  tensors.operands.emplace_back();
  return tensors;
}

}  // namespace attune
