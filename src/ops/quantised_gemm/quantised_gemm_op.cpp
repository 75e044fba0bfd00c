// SPDX-License-Identifier: MIT
#include "ops/quantised_gemm/quantised_gemm_op.h"

#include <cmath>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "ops/quantised_gemm/quantised_gemm.h"
#include "ops/quantised_gemm/quantised_gemm_reference.h"
#include "tensor/convert.h"
#include "tensor/random_fill.h"
#include "tensor/rounding.h"

namespace attune {
namespace {

/// Standard deviation of the elements that fill() writes.
double deviation_of(DType dtype, Distribution distribution) {
  if (distribution == Distribution::integers) return 2.6;  // −4 to 4
  if (dtype == DType::int8) return 32;
  return dtype == DType::e2m1 ? 1.5 : 1;
}

/// Divides the scales by the size of a sum, rounded to a power of two, so that results are about 1 and none overflows.
void make_results_small(const QuantisedGemm& shape, Distribution distribution, std::span<std::byte> scales,
                        int64_t num_scales) {
  const double deviation = deviation_of(shape.in, distribution);
  const double size = std::sqrt(static_cast<double>(shape.k)) * deviation * deviation;
  std::vector<float> values(static_cast<size_t>(num_scales));
  to_float(shape.scale, scales.data(), values);
  for (float& value : values) value = std::ldexp(value, -static_cast<int>(std::lround(std::log2(size))));
  from_float(shape.scale, values, scales.data());
}

/// Fills the last row with −128 and ±127, so that sums which saturate at 16 bits differ: two products of such elements
/// exceed 2^15.
void make_last_row_large(std::span<std::byte> matrix, int64_t k, uint64_t seed) {
  const auto row = matrix.last(static_cast<size_t>(k));
  for (size_t i = 0; i < row.size(); ++i) {
    const uint64_t random = derive_seed(seed + i / 2, "large");
    const int value = i % 2 == 0 && (random & 6) == 0 ? -128 : (random & 1) != 0 ? 127 : -127;
    row[i] = static_cast<std::byte>(value);
  }
}

}  // namespace

QuantisedGemm QuantisedGemm::of(const Problem& problem) {
  QuantisedGemm shape{.m = problem.integer("m"),
                      .n = problem.integer("n"),
                      .k = problem.integer("k"),
                      .in = problem.dtype("q_dtype_w"),
                      .out = problem.has("outdtype") ? problem.dtype("outdtype") : DType::bf16,
                      .bias = problem.integer_or("bias", 0) != 0};
  if (problem.has("scale") && problem.text("scale") == "tensor") shape.a_scales = shape.b_scales = {.rows = 0};
  return shape;
}

Work QuantisedGemmOp::work(const Problem& problem) const {
  const auto shape = QuantisedGemm::of(problem);
  Work work{.flops = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k),
            .arithmetic = shape.in};
  for (const TensorSpec& tensor : tensors(problem)) work.bytes += static_cast<double>(tensor.bytes());
  return work;
}

std::vector<TensorSpec> QuantisedGemmOp::tensors(const Problem& problem) const {
  const auto shape = QuantisedGemm::of(problem);
  const auto scales = [&](const char* role, const ScaleGroups& groups, int64_t rows, Use use) {
    const int64_t num_rows = groups.num_rows(rows), columns = groups.num_columns(shape.k);
    return TensorSpec{
        .role = role,
        .dtype = shape.scale,
        .shape = groups.depth == 0 ? std::vector<int64_t>{num_rows} : std::vector<int64_t>{num_rows, columns},
        .use = use};
  };
  std::vector<TensorSpec> tensors = {
      {.role = "a", .dtype = shape.in, .shape = {shape.m, shape.k}, .use = Use::activation},
      {.role = "b", .dtype = shape.in, .shape = {shape.n, shape.k}, .use = Use::weight},
      scales("a_scale", shape.a_scales, shape.m, Use::scale),
      scales("b_scale", shape.b_scales, shape.n, Use::scale)};
  if (shape.bias) tensors.push_back({.role = "bias", .dtype = shape.out, .shape = {shape.n}, .use = Use::weight});
  tensors.push_back({.role = "c", .dtype = shape.out, .shape = {shape.m, shape.n}, .use = Use::output});
  return tensors;
}

void QuantisedGemmOp::fill(const Problem& problem, Distribution distribution, uint64_t seed,
                           const HostTensors& tensors) const {
  const auto shape = QuantisedGemm::of(problem);
  const auto where = QuantisedOperands::of(shape);
  const auto specs = this->tensors(problem);
  const bool is_exact = distribution == Distribution::integers;
  for (size_t i = 0; i + 1 < specs.size(); ++i) {
    const std::span<std::byte> operand = tensors.operands[i];
    if (specs[i].use == Use::scale)
      fill_scales(specs[i].dtype, seed + i, is_exact ? ScaleValues::exact : ScaleValues::any, operand);
    else if (is_exact)
      fill_integers(specs[i].dtype, seed + i, 4, operand);
    else
      fill_normal(specs[i].dtype, seed + i, operand);
  }
  make_results_small(shape, distribution, tensors.operands[where.b_scale], specs[where.b_scale].elements());
  if (is_exact || shape.in != DType::int8) return;
  make_last_row_large(tensors.operands[where.a], shape.k, seed);
  make_last_row_large(tensors.operands[where.b], shape.k, seed + 1);
}

void QuantisedGemmOp::reference(const Problem& problem, Path path, const HostTensors& tensors,
                                const ReferencePart& out) const {
  const auto shape = QuantisedGemm::of(problem);
  if (path == Path::naive)
    naive_quantised_gemm(shape, tensors, out);
  else
    fast_quantised_gemm(shape, tensors, out);
}

Tolerance QuantisedGemmOp::tolerance(const Problem& problem) const {
  const auto shape = QuantisedGemm::of(problem);
  const double root_k = std::sqrt(static_cast<double>(shape.k)), rtol = 2 * Rounding::of(shape.out).unit;
  // As for the sums of gemm_a16w16 in fp32 (ops/gemm/gemm_op.cpp). Kernels may sum int8 in fp32, too; what remains is
  // rounded a few times: the sum, two products, the bias.
  return {.rtol = rtol,
          .atol = rtol * 0.1,
          .max_relative = (4 * root_k + static_cast<double>(shape.k) / 2 + 8) * Rounding::of(DType::fp32).unit,
          .max_cosine = 1e-5};
}

void register_quantised_gemm_ops(std::vector<const Op*>& ops);
void register_quantised_gemm_ops(std::vector<const Op*>& ops) {
  static const QuantisedGemmOp a8w8(gemm_a8w8_family());
  ops.push_back(&a8w8);
}

}  // namespace attune
