// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <vector>

#include "base/pages.h"
#include "ops/op.h"

namespace attune {

/// The inputs of a problem on the host at their full size. Only the elements are written that the given elements of the
/// output depend on; untouched pages take no memory.
class SampledInputs {
 public:
  /// Place of an element of the output.
  struct Element {
    int64_t row = 0, column = 0;
  };
  /// Writes the inputs of the elements, with the bytes of Op::fill(), on all cores. Requires: the op defines how its
  /// inputs are filled (OpKernels::fills()), each of a type of is_kernel_dtype(). Throws device without address space.
  SampledInputs(const Op& op, const Problem& problem, Distribution distribution, uint64_t seed,
                std::span<const Element> elements);

  /// Valid as long as this. The output's place is empty.
  HostTensors tensors() const;

 private:
  struct Pages {
    explicit Pages(uint64_t bytes);
    ~Pages() { unmap_pages(data, bytes); }
    Pages(Pages&& other) noexcept;
    Pages& operator=(Pages&&) = delete;
    void* data;
    uint64_t bytes;
  };
  std::vector<Pages> inputs_;
};

}  // namespace attune
