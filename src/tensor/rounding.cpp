// SPDX-License-Identifier: MIT
#include "tensor/rounding.h"

#include <iterator>
#include <limits>

namespace attune {
namespace {

/// Returns the rounding of a type with `digits` bits of significand, the leading one included, whose spacing near zero
/// is 2^`min`.
constexpr Rounding of_float(int digits, int min, double largest) {
  double unit = 1, step = 0.5;
  for (int i = 0; i < digits; ++i) unit /= 2;
  for (int i = 0; i > min; --i) step /= 2;
  return {unit, step, largest};
}

constexpr Rounding of_integer(double largest) { return {0, 0.5, largest}; }

}  // namespace

const Rounding& Rounding::of(DType dtype) noexcept {
  // fp32 has the spacing and, nearly, the largest number of bf16, with which its results are compared alike.
  static constexpr Rounding kRows[] = {
      of_float(53, -1074, std::numeric_limits<double>::max()),  // fp64
      of_float(24, -133, 3.38e38),                              // fp32
      of_float(8, -133, 3.38e38),                               // bf16
      of_float(11, -24, 65504),                                 // fp16
      of_integer(2147483647),                                   // int32
      of_integer(127),                                          // int8
      of_float(4, -9, 448),                                     // e4m3fn
      of_float(4, -10, 240),                                    // e4m3fnuz
      of_float(3, -16, 57344),                                  // e5m2
      of_float(3, -17, 57344),                                  // e5m2fnuz
      of_float(2, -1, 6),                                       // e2m1
      {1.0 / 3, 0x1p-127, 0x1p127},                             // e8m0: 1.5 becomes 2
      of_integer(7),                                            // int4
  };
  static_assert(std::size(kRows) == kNumDTypes);
  return kRows[static_cast<size_t>(dtype)];
}

}  // namespace attune
