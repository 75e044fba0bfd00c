// SPDX-License-Identifier: MIT
#pragma once
#include "attune/dtype.h"

namespace attune {

/// How a type rounds to nearest: |rounded − x| ≤ max(unit · |x|, step) for every x up to `largest`.
struct Rounding {
  double unit = 0;     ///< Largest relative error: 2^-24 for fp32, 2^-8 for bf16, 2^-4 for e4m3fn; 0 for integers.
  double step = 0;     ///< Largest absolute error near zero: half of the fixed spacing that numbers have there.
  double largest = 0;  ///< Largest finite number; beyond it a result that is rounded right may be infinite.

  static const Rounding& of(DType dtype) noexcept;
};

}  // namespace attune
