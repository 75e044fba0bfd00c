// SPDX-License-Identifier: MIT
#include "tuner/problem/look_ahead.h"

#include <algorithm>

namespace attune {

void LookAhead::admitted(double compile_s, double admission_s) noexcept {
  compile_s_ += compile_s;
  admission_s_ += admission_s;
}

uint32_t LookAhead::window(uint32_t num_compilers, uint32_t batch) const noexcept {
  constexpr double kSpread = 2;  // Some kernels take twice as long to compile as others.
  const uint32_t max = 2 * std::max<uint32_t>(num_compilers, 1) + batch;
  if (admission_s_ <= 0) return max;
  const double wanted = kSpread * compile_s_ / admission_s_;
  // An admission takes some 6 ms on an H200, and a question of a search by a model 10 to 20 ms after a round.
  uint32_t window = 4;
  while (window < max && window < wanted) window *= 2;
  return std::min(window, max);
}

}  // namespace attune
