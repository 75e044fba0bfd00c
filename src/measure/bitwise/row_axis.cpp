// SPDX-License-Identifier: MIT
#include "measure/bitwise/row_axis.h"

#include <cstring>

#include "base/error.h"

namespace attune {

std::vector<int64_t> probed_rows(int64_t m) {
  constexpr int64_t kPrime = 37;  // more than the rows of any tile, and no multiple of them
  std::vector<int64_t> rows = {1, 2, 3, kPrime, 2 * m};
  std::erase(rows, m);
  return rows;
}

std::optional<RowAxis> RowAxis::between(const TensorSpec& at_m, const TensorSpec& at_other) {
  if (at_m.shape == at_other.shape) return std::nullopt;
  const uint64_t element_bits = static_cast<uint64_t>(bits(at_m.dtype));
  if (element_bits % 8 != 0)
    fail(ErrorCode::unavailable, "rows of elements below a byte cannot be compared, those of '{}'", at_m.role);
  RowAxis found;
  found.inner_bytes = element_bits / 8;
  bool is_found = false;
  for (size_t axis = at_m.shape.size(); axis-- > 0;) {
    if (at_m.shape[axis] != at_other.shape[axis]) {
      ATTUNE_CHECK(!is_found, "'{}' differs in two axes", at_m.role);
      is_found = true;
      found.m = at_m.shape[axis];
      found.other = at_other.shape[axis];
    } else if (is_found) {
      found.outer *= at_m.shape[axis];
    } else {
      found.inner_bytes *= static_cast<uint64_t>(at_m.shape[axis]);
    }
  }
  return found;
}

void RowAxis::gather(std::span<const std::byte> at_m, std::span<std::byte> at_other) const noexcept {
  for (int64_t block = 0; block < outer; ++block) {
    for (int64_t row = 0; row < other; ++row)
      std::memcpy(at_other.data() + offset(block, other, row), at_m.data() + offset(block, m, place_at_m(row)),
                  inner_bytes);
  }
}

std::optional<int64_t> RowAxis::first_different(std::span<const std::byte> at_m,
                                                std::span<const std::byte> at_other) const noexcept {
  for (int64_t row = 0; row < other; ++row) {
    for (int64_t block = 0; block < outer; ++block) {
      if (std::memcmp(at_other.data() + offset(block, other, row), at_m.data() + offset(block, m, place_at_m(row)),
                      inner_bytes) != 0)
        return row;
    }
  }
  return std::nullopt;
}

}  // namespace attune
