// SPDX-License-Identifier: MIT
#include "attune/tensor.h"

namespace attune {

int64_t TensorSpec::elements() const noexcept {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

uint64_t TensorSpec::bytes() const noexcept {
  if (shape.empty()) return 0;
  // Each row of the last axis starts at a byte, so rows of a sub-byte type are rounded up.
  const auto last = static_cast<uint64_t>(shape.back());
  const auto rows = last == 0 ? 0 : static_cast<uint64_t>(elements()) / last;
  return rows * ((last * static_cast<uint64_t>(bits(dtype)) + 7) / 8);
}

}  // namespace attune
