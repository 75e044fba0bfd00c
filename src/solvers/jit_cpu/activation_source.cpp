// SPDX-License-Identifier: MIT
// Text of the activations in vectors of fp32, without a call of libm.
#include "solvers/jit_cpu/activation_source.h"

#include <fmt/format.h>

namespace attune::jit_cpu {
namespace {

/// `exp_of(y)` for y ≤ 0: e^y with a relative error below 2^-22, 0 below -87.3. n = round(y/ln 2) comes from the low
/// bits of y/ln 2 + 1.5·2^23; ln 2 is subtracted in two parts, the first with so few bits that n times it is exact; e^r
/// for |r| ≤ ln 2/2 is a minimax polynomial of degree 6 (error 7.6e-9); 2^n is added to the exponent.
constexpr const char* kExponential =
    "static inline vf exp_of(vf y) {\n"
    "  const vf m = y * 1.44269502f + 12582912.0f;\n"
    "  const vf n = m - 12582912.0f;\n"
    "  const vf r = y - n * 0.693145752f - n * 1.42860677e-06f;\n"
    "  vf p = r * 0.00139412179f + 0.00836323481f;\n"
    "  p = p * r + 0.0416663736f;\n"
    "  p = p * r + 0.166665763f;\n"
    "  p = p * r + 0.5f;\n"
    "  p = p * r + 1.0f;\n"
    "  p = p * r + 1.0f;\n"
    "  const aw is_there = (aw)(y > (vf){0} - 87.3f);\n"
    "  return (vf)(((aw)p + ((aw)m << 23)) & is_there);\n}\n";

/// Text of `tail(a)` for 0 ≤ a ≤ 96: what max(x, 0) exceeds the activation by, over |x|.
std::string tail_text(Activation act) {
  if (act == Activation::silu)
    return "static inline vf tail(vf a) { const vf e = exp_of((vf){0} - a); return e / (1.0f + e); }\n";
  // tanh is a sigmoid of twice the argument: 2√(2/π) = 1.5957691, times 0.044715 = 0.0713548.
  if (act == Activation::gelu_tanh) {
    return "static inline vf tail(vf a) {\n"
           "  const vf e = exp_of((vf){0} - a * (a * a * 0.0713548163f + 1.59576912f));\n"
           "  return e / (1.0f + e);\n}\n";
  }
  // erfc(a/√2)/2 = p(t)·e^(−a²/2), t = 0.26·a/(1 + 0.26·a), with a minimax p of degree 9 on a ≤ 14 (relative error
  // 8.8e-9). It is a polynomial in t and not in 1 − t because t loses no bits where a is small.
  return "static inline vf tail(vf a) {\n"
         "  const vf b = a * 0.26f, t = b / (b + 1.0f);\n"
         "  vf p = t * -0.0339256413f + 0.134815052f;\n"
         "  p = p * t - 0.14817211f;\n"
         "  p = p * t - 0.0886636004f;\n"
         "  p = p * t + 0.168475553f;\n"
         "  p = p * t + 0.542390287f;\n"
         "  p = p * t - 1.70438933f;\n"
         "  p = p * t + 2.16385674f;\n"
         "  p = p * t - 1.53439403f;\n"
         "  p = p * t + 0.5f;\n"
         "  return p * exp_of((a * a) * -0.5f);\n}\n";
}

}  // namespace

std::string activation_text(const VectorUnit& unit, Activation act) {
  if (act == Activation::none) return "";
  std::string text = fmt::format("typedef unsigned aw __attribute__((vector_size({})));\n", 4 * unit.lanes);
  // A comparison with NaN is false, so NaN passes.
  text += "static inline vf positive(vf x) { return (vf)((aw)x & ~(aw)(x < (vf){0})); }\n";
  if (act == Activation::relu) {
    text += "static inline vf activate(vf x) { return positive(x); }\n";
  } else {
    text += kExponential + tail_text(act);
    text +=
        "static inline vf activate(vf x) {\n"
        "  const vf cap = (vf){0} + 96.0f, size = (vf)((aw)x & 0x7fffffffu);\n"
        "  const aw is_below = (aw)(size < cap);\n"
        "  const vf a = (vf)(((aw)size & is_below) | ((aw)cap & ~is_below));\n"
        "  return positive(x) - a * tail(a);\n}\n";
  }
  return text + "static inline float activate_one(float x) { return activate((vf){x})[0]; }\n";
}

std::string activated(Activation act, std::string_view function, const std::string& expression) {
  return act == Activation::none ? expression : fmt::format("{}({})", function, expression);
}

}  // namespace attune::jit_cpu
