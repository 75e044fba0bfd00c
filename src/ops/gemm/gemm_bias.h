// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>

namespace attune {

/// Sets every row of the M×N output to the bias, for libraries that only support C = A·B + C.
inline void broadcast_bias(const float* bias, float* c, int64_t m, int64_t n) {
  for (int64_t row = 0; row < m; ++row) std::copy_n(bias, n, c + row * n);
}

}  // namespace attune
