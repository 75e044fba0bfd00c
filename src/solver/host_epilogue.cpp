// SPDX-License-Identifier: MIT
#include "solver/host_epilogue.h"

#include <cmath>
#include <span>

#include "tensor/convert.h"

namespace attune {
namespace {

float element(DType dtype, const std::byte* tensor, int64_t index) {
  float value = 0;
  to_float(dtype, tensor + index * bits(dtype) / 8, std::span(&value, 1));
  return value;
}

float activated(Activation act, float x) {
  constexpr float kRootHalf = 0.70710678f, kRootTwoOverPi = 0.79788456f, kCubic = 0.044715f;
  switch (act) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x < 0 ? 0 : x;  // A NaN stays one.
    case Activation::gelu:
      return 0.5f * x * std::erfc(-x * kRootHalf);
    case Activation::gelu_tanh:
      return x / (1 + std::exp(-2 * kRootTwoOverPi * x * (1 + kCubic * x * x)));
    case Activation::silu:
      return x / (1 + std::exp(-x));
  }
  return x;
}

}  // namespace

HostEpilogue::HostEpilogue(const GemmShape& shape, const Launch& launch)
    : epilogue_(shape.epilogue), in_(shape.in), out_(shape.out), n_(shape.n) {
  const auto where = GemmOperands::of(shape);
  const auto operand = [&](size_t index) { return static_cast<const std::byte*>(launch.operands[index]); };
  if (shape.bias) bias_ = operand(where.bias);
  if (epilogue_.beta != Factor::zero) residual_ = operand(where.residual);
  if (epilogue_.alpha == Factor::any) alpha_ = element(DType::fp32, operand(where.alpha), 0);
  if (epilogue_.beta == Factor::any) beta_ = element(DType::fp32, operand(where.beta), 0);
  if (epilogue_.out_scale) out_scale_ = element(DType::fp32, operand(where.out_scale), 0);
}

__attribute__((noinline)) float HostEpilogue::finish(float sum, int64_t row, int64_t column) const {
  float x = epilogue_.alpha == Factor::zero ? 0 : alpha_ * sum;
  if (bias_ != nullptr) x += element(in_, bias_, column);
  if (residual_ != nullptr) x += beta_ * element(out_, residual_, row * n_ + column);
  return out_scale_ * activated(epilogue_.act, x);
}

}  // namespace attune
