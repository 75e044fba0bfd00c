// SPDX-License-Identifier: MIT
#include "ops/gemm/gemm_epilogue.h"

#include "base/error.h"
#include "ops/family.h"

namespace attune {
namespace {

template <typename Choice>
Choice choice_of(const Problem& problem, std::string_view attribute, std::span<const std::string_view> names,
                 Choice default_value) {
  if (!problem.has(attribute)) return default_value;
  if (const auto number = choice_number(names, problem.text(attribute))) return static_cast<Choice>(*number);
  fail(ErrorCode::invalid_input, "attribute '{}' cannot be '{}'", attribute, problem.text(attribute));
}

}  // namespace

GemmEpilogue GemmEpilogue::of(const Problem& problem) {
  return {choice_of(problem, "act", kActivations, Activation::none), choice_of(problem, "alpha", kFactors, Factor::one),
          choice_of(problem, "beta", kFactors, Factor::zero), problem.integer_or("out_scale", 0) != 0};
}

double steepest_slope(Activation act) noexcept {
  switch (act) {
    case Activation::none:
    case Activation::relu:
      return 1;
    case Activation::gelu:
    case Activation::gelu_tanh:
      return 1.13;  // 1.1289 and 1.1291, near x = √2.
    case Activation::silu:
      return 1.1;  // 1.0998 at x = 2.4.
  }
  return 1;
}

}  // namespace attune
