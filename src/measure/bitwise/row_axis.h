// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attune/tensor.h"

namespace attune {

/// Numbers of rows M' at which a batch-invariant candidate of a problem with M rows is compared with itself: 1, 2, 3, a
/// prime beyond any tile, and 2·M; without M itself.
std::vector<int64_t> probed_rows(int64_t m);

/// The axis of a tensor that is M: rows of x or of the result, as they lie in memory at M and at M'. Row i at M' stands
/// for row (i + M/2) mod M at M. So rows change their places, and repeat where M' is larger.
struct RowAxis {
  int64_t outer = 1;         ///< Elements of the axes before it, together.
  int64_t m = 1, other = 1;  ///< Extents of the axis at M and at M'.
  uint64_t inner_bytes = 0;  ///< Bytes of the axes after it, together.

  /// Finds the axis in which two tensors of one role differ; nothing if they are equal. Throws unavailable for types
  /// below a byte. Requires: they differ in one axis at most.
  static std::optional<RowAxis> between(const TensorSpec& at_m, const TensorSpec& at_other);

  int64_t place_at_m(int64_t row) const noexcept { return (row + m / 2) % m; }
  /// Fills the tensor at M' with the rows at M.
  void gather(std::span<const std::byte> at_m, std::span<std::byte> at_other) const noexcept;
  /// The first row at M' that is not bit-equal to its row at M; nothing if all are.
  std::optional<int64_t> first_different(std::span<const std::byte> at_m,
                                         std::span<const std::byte> at_other) const noexcept;

 private:
  uint64_t offset(int64_t block, int64_t extent, int64_t row) const noexcept {
    return static_cast<uint64_t>(block * extent + row) * inner_bytes;
  }
};

}  // namespace attune
