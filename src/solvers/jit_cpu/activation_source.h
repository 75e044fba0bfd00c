// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>

#include "ops/epilogue.h"
#include "solvers/jit_cpu/kernel_text.h"

namespace attune::jit_cpu {

/// Text of `activate(vf)` and, by the same instructions, of `activate_one(float)`; empty without an activation. Each is
/// max(x, 0) less a tail that depends on |x|, so that nothing cancels and large values keep every bit. In fp32 it errs
/// by less than 3·2^-24·|x|; results below 2^-126 may be zero. NaN and +∞ stay what they are.
std::string activation_text(const VectorUnit& unit, Activation act);

/// An expression for a vector (`activate`) or an element (`activate_one`) behind the activation, if there is one.
std::string activated(Activation act, std::string_view function, const std::string& expression);

}  // namespace attune::jit_cpu
