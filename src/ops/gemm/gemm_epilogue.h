// SPDX-License-Identifier: MIT
#pragma once
#include <cmath>
#include <cstddef>

#include "attune/problem.h"
#include "ops/epilogue.h"
#include "tensor/kernel_text.h"

namespace attune {

/// The operations of a product on its sums after the bias: C = out_scale · act(alpha · A·B + bias + beta · residual),
/// in fp32 (or wider) and rounded once, to the type of C. A and B are not read where alpha is 0.
struct GemmEpilogue {
  Activation act = Activation::none;
  Factor alpha = Factor::one, beta = Factor::zero;
  bool out_scale = false;
  /// Returns the epilogue of a normalised problem. Throws invalid_input for an unknown name.
  static GemmEpilogue of(const Problem& problem);
  bool is_none() const noexcept { return *this == GemmEpilogue(); }
  bool operator==(const GemmEpilogue&) const = default;
};

/// Whether an activation of x has one value: formulas differ for -Inf and NaN.
ATTUNE_EVERYWHERE inline bool is_activation_defined(Activation act, double x) {
  return act == Activation::none || (!std::isnan(x) && (x > 0 || !std::isinf(x)));
}

/// An upper bound of an activation's slope: how many times as large as the error before it the one behind it can be.
double steepest_slope(Activation act) noexcept;

}  // namespace attune
