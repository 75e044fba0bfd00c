// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/space/search_space.h"

namespace attune {

/// How far apart two configs are in one coordinate, from 0 to 1. Numbers: a part for being different at all, the rest
/// by their ranks; texts, and a value and none, are 1 apart. The numbers of a library's attributes are names as well as
/// sizes: of 0, 0.15, 0.3, 0.5 and 1 for being different, 0.15 predicted the times of cuBLASLt and of generated kernels
/// best (docs/adr/0030).
inline float coordinate_distance(float a, float b) noexcept {
  constexpr float kDifferent = 0.15F;
  const float apart = kDifferent + (1 - kDifferent) * std::abs(a - b);
  return a == b ? 0 : std::min(apart, 1.0F);
}

/// The configs of a space as points, with a coordinate for each parameter, or each attribute of a listed space, that
/// has more than one value. Const, thread-safe. Refers to the space, which must outlive it.
class ConfigPoints {
 public:
  explicit ConfigPoints(const SearchSpace& space);

  size_t num_coordinates() const noexcept { return scales_.size(); }
  /// The coordinates of an index below the size of the space: the rank of a number among its values, from 0 to 1, a
  /// whole number of its own for a text, -2 where the config lacks the parameter.
  std::vector<float> at(uint64_t index) const;

 private:
  /// A parameter or attribute.
  struct Scale {
    size_t position = 0;             ///< In the space's parameters, or in the columns of its table.
    std::vector<float> coordinates;  ///< By value.
  };
  void add(size_t position, std::span<const Value> values);

  const SearchSpace& space_;
  std::vector<Scale> scales_;
};

}  // namespace attune
