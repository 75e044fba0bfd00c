// SPDX-License-Identifier: MIT
#include "ops/quantised_gemm/quantised_gemm_op.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
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

/// The types and scales that a family fixes.
struct QuantisedForm {
  const FamilySpec& (*family)();
  DType in;  ///< In a problem without `q_dtype_w`.
  DType scale;
  ScaleGroups a_scales, b_scales;
};
constexpr QuantisedForm kForms[] = {
    {gemm_a8w8_family, DType::int8, DType::fp32, {}, {}},
    {gemm_a8w8_blockscale_family, DType::e4m3fn, DType::fp32, {.depth = 128}, {.rows = 128, .depth = 128}},
    {gemm_a4w4_blockscale_family, DType::e2m1, DType::e8m0, {.depth = 32}, {.depth = 32}}};

const QuantisedForm& form_of(const Problem& problem) {
  const auto found = std::ranges::find_if(kForms, [&](const auto& form) { return form.family().op == problem.op(); });
  ATTUNE_CHECK(found != std::end(kForms), "{} is no quantised product", problem.op());
  return *found;
}

/// Standard deviation of the elements that fill() writes.
double deviation_of(DType dtype, Distribution distribution) {
  if (distribution == Distribution::integers) return 2.6;  // −4 to 4
  if (dtype == DType::int8) return 32;
  return dtype == DType::e2m1 ? 1.5 : 1;
}

std::vector<float> scales_in(DType dtype, std::span<const std::byte> stored) {
  std::vector<float> values(stored.size() * 8 / static_cast<size_t>(bits(dtype)));
  to_float(dtype, stored.data(), values);
  return values;
}

/// Root of the mean square.
double size_of(std::span<const float> values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// Divides the scales by the size of a sum, rounded to a power of two, so that results are about 1 and none overflows.
/// A sum over many blocks has the size of a usual scale, too.
void make_results_small(const QuantisedGemm& shape, Distribution distribution, std::span<const std::byte> other_scales,
                        std::span<std::byte> scales) {
  const double deviation = deviation_of(shape.in, distribution);
  double size = std::sqrt(static_cast<double>(shape.k)) * deviation * deviation;
  std::vector<float> values = scales_in(shape.scale, scales);
  if (shape.has_blocks()) size *= size_of(values) * size_of(scales_in(shape.scale, other_scales));
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

// Fp8 with scales of blocks has the widest tolerance. In a matrix of few rows of scales, one element or block that
// outweighs all others would hide their errors.
constexpr int64_t kFewRows = 4;

/// Replaces the numbers at the ends of the type's range (fill_normal()) by their neighbours.
void make_ends_ordinary(std::span<std::byte> matrix) {
  if (matrix.size() < 8) return;
  std::copy_n(matrix.begin() + 2, 2, matrix.begin());
  std::copy_n(matrix.end() - 4, 2, matrix.end() - 2);
}

/// Moves scales to [1/2, 2), except the smallest and the largest, which are at the ends, if there are many rows.
void make_scales_similar(DType dtype, int64_t num_rows, std::span<std::byte> scales) {
  std::vector<float> values = scales_in(dtype, scales);
  const size_t kept = num_rows < kFewRows ? 0 : 1;
  for (size_t i = kept; i + kept < values.size(); ++i) {
    int exponent = 0;
    const float digits = std::frexp(values[i], &exponent);
    values[i] = std::ldexp(digits, exponent & 1);
  }
  from_float(dtype, values, scales.data());
}

}  // namespace

QuantisedGemm QuantisedGemm::of(const Problem& problem) {
  const QuantisedForm& form = form_of(problem);
  QuantisedGemm shape{.m = problem.integer("m"),
                      .n = problem.integer("n"),
                      .k = problem.integer("k"),
                      .in = problem.has("q_dtype_w") ? problem.dtype("q_dtype_w") : form.in,
                      .out = problem.has("outdtype") ? problem.dtype("outdtype") : DType::bf16,
                      .scale = form.scale,
                      .bias = problem.integer_or("bias", 0) != 0,
                      .packed = problem.integer_or("bpreshuffle", 0) != 0,
                      .a_scales = form.a_scales,
                      .b_scales = form.b_scales};
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
  const auto scales = [&](const char* role, const ScaleGroups& groups, int64_t rows, bool is_packed) {
    const int64_t num_rows = groups.num_rows(rows), columns = groups.num_columns(shape.k);
    return TensorSpec{
        .role = role,
        .dtype = shape.scale,
        .shape = groups.depth == 0 ? std::vector<int64_t>{num_rows} : std::vector<int64_t>{num_rows, columns},
        .use = Use::scale,
        .is_packed = is_packed};
  };
  std::vector<TensorSpec> tensors = {
      {.role = "a", .dtype = shape.in, .shape = {shape.m, shape.k}, .use = Use::activation},
      {.role = "b", .dtype = shape.in, .shape = {shape.n, shape.k}, .use = Use::weight, .is_packed = shape.packed},
      scales("a_scale", shape.a_scales, shape.m, false),
      scales("b_scale", shape.b_scales, shape.n, shape.packed)};
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
    if (shape.has_blocks() && shape.scale == DType::fp32 && !is_exact) {
      const int64_t num_rows = specs[i].shape.front();
      if (specs[i].use == Use::scale)
        make_scales_similar(specs[i].dtype, num_rows, operand);
      else if (num_rows < kFewRows)
        make_ends_ordinary(operand);
    }
  }
  make_results_small(shape, distribution, tensors.operands[where.a_scale], tensors.operands[where.b_scale]);
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

std::vector<SpecialValue> QuantisedGemmOp::special_values(const Problem& problem) const {
  constexpr int64_t kLeastRows = 8, kManyRows = 16;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const auto shape = QuantisedGemm::of(problem);
  const auto where = QuantisedOperands::of(shape);
  const bool is_in_a = shape.m >= shape.n;
  const int64_t rows = is_in_a ? shape.m : shape.n, other_rows = is_in_a ? shape.n : shape.m;
  if (rows < kLeastRows) return {};
  std::vector<SpecialValue> values;
  const auto put = [&](bool in_a, int64_t row, int64_t at) {
    const ScaleGroups& groups = in_a ? shape.a_scales : shape.b_scales;
    const size_t elements = in_a ? where.a : where.b, scales = in_a ? where.a_scale : where.b_scale;
    // A scale of many rows would hide all of them.
    if (shape.in != DType::int8 && bits(shape.in) == 8) values.push_back({elements, row * shape.k + at, kNan});
    if (groups.rows == 1) values.push_back({scales, groups.index(row - 1, at, shape.k), kNan});
  };
  put(is_in_a, rows / 2, shape.k - 1);
  if (other_rows >= kManyRows) put(!is_in_a, other_rows / 3, 0);
  return values;
}

Tolerance QuantisedGemmOp::tolerance(const Problem& problem) const {
  const auto shape = QuantisedGemm::of(problem);
  const double root_k = std::sqrt(static_cast<double>(shape.k)), rtol = 2 * Rounding::of(shape.out).unit;
  // As for the sums of gemm_a16w16 in fp32 (ops/gemm/gemm_op.cpp). Kernels may sum int8 in fp32, too; what remains is
  // rounded a few times: the sum, two products, the bias. A kernel that scales the elements first rounds each product
  // two or three times more, which adds at most as much as √K sums.
  Tolerance tolerance{
      .rtol = rtol,
      .atol = rtol * 0.1,
      .max_relative = (4 * root_k + static_cast<double>(shape.k) / 2 + 8) * Rounding::of(DType::fp32).unit,
      .max_cosine = 1e-5};
  // A library multiplies the elements by fp32 scales first and rounds them to bf16. The error of a sum then deviates by
  // 0.6 units of bf16 times the root of the products' squares, which the reference's scales approximate. Ten deviations
  // are more than the largest of 10^8 elements, and leave room for products that differ in size.
  if (shape.has_blocks() && shape.scale == DType::fp32) {
    const double unit = Rounding::of(DType::bf16).unit;
    tolerance.max_relative += 6 * unit;
    tolerance.rtol = tolerance.atol = 2 * unit;
  }
  return tolerance;
}

void register_quantised_gemm_ops(std::vector<const Op*>& ops);
void register_quantised_gemm_ops(std::vector<const Op*>& ops) {
  static const QuantisedGemmOp a8w8(gemm_a8w8_family()), a8w8_blockscale(gemm_a8w8_blockscale_family()),
      a4w4_blockscale(gemm_a4w4_blockscale_family());
  ops.insert(ops.end(), {&a8w8, &a8w8_blockscale, &a4w4_blockscale});
}

}  // namespace attune
