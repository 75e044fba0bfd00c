// SPDX-License-Identifier: MIT
// Read by the C++ compiler and by those of kernels.
#pragma once
#include <cstdint>

#include "attune/dtype.h"
#include "tensor/kernel_text.h"

namespace attune {

/// How the elements of a tensor are made: each is a function of its place alone, so that a host and a device give the
/// same bytes (tensor/random_fill.h, tensor/fill_element.h).
struct TensorFill {
  enum class Values : uint8_t {
    normal,    ///< fill_normal(), then multiplied by `factor`
    integers,  ///< fill_integers()
    uniform,   ///< between −0.5 and 0.5
    sine,      ///< of the place, in radians
    number,    ///< all equal
  };
  Values values = Values::number;
  DType dtype = DType::fp32;
  uint64_t seed = 0;
  int limit = 0;     ///< Of the integers.
  float factor = 1;  ///< A power of two.
  float number = 0;
};

/// The random bits of an element: splitmix64's output function of a counter, which vectorises, unlike a generator with
/// state. `start`: fill_start() of the seed.
ATTUNE_EVERYWHERE inline uint64_t fill_bits(uint64_t start, uint64_t index) {
  uint64_t z = (start + index) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// A number of fill_normal(), not yet rounded. `scale`: the deviation over that of the sum, 37836.6: the variance of a
/// sum of four uniforms on [0, 65535] is 4·65535²/12.
ATTUNE_EVERYWHERE inline float normal_value(uint64_t bits, float scale) {
  const auto sum =
      static_cast<int32_t>((bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48));
  return static_cast<float>(sum - 131070) * scale;
}
inline constexpr float kSumDeviation = 37836.6f;

/// A number between −0.5 and 0.5.
ATTUNE_EVERYWHERE inline float uniform_value(uint64_t bits) {
  return static_cast<float>(static_cast<int32_t>(bits >> 40) - (1 << 23)) * 0x1p-24f;
}

/// The sine of a number of radians below 2^40, within 4e-6. In whole numbers, so that all compilers give equal bits.
ATTUNE_EVERYWHERE inline float sine_value(uint64_t radians) {
  constexpr int64_t kOne = int64_t{1} << 30;                // Of the numbers below.
  const uint64_t turns = radians * 2935890503282001226ULL;  // 2^64 / 2π: whole turns overflow.
  int64_t quarters = static_cast<int64_t>(turns) >> 32;
  if (quarters > kOne) quarters = 2 * kOne - quarters;
  if (quarters < -kOne) quarters = -2 * kOne - quarters;
  const int64_t square = quarters * quarters >> 30;
  // Taylor's series of sin(π/2·x).
  int64_t sum = 172272;
  sum = -5026995 + (sum * square >> 30);
  sum = 85569306 + (sum * square >> 30);
  sum = -693598668 + (sum * square >> 30);
  sum = 1686629713 + (sum * square >> 30);
  return static_cast<float>(static_cast<int32_t>(sum * quarters >> 30)) * 0x1p-30f;
}

/// A number of fill_integers().
ATTUNE_EVERYWHERE inline float integer_value(uint64_t bits, int limit) {
  const auto values = static_cast<uint64_t>(2 * limit + 1);
  return static_cast<float>(static_cast<int>(((bits >> 32) * values) >> 32) - limit);
}

}  // namespace attune
