// SPDX-License-Identifier: MIT
#include "ops/gemm/gemm_op.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "ops/gemm/gemm_family.h"
#include "ops/gemm/gemm_reference.h"
#include "ops/gemm/gemm_reference_kernel.h"
#include "ops/schema.h"
#include "tensor/random_fill.h"
#include "tensor/rounding.h"

namespace attune {
namespace {

/// Typical size of a sum before the activation, in problems that have one: where an activation is curved, so that one
/// curve is told from another, and from none.
constexpr double kCurvedSize = 2;

/// Size of the elements of the result on normal data; a bound of absolute errors goes by it.
double typical_size(const GemmShape& shape) {
  if (shape.epilogue.alpha == Factor::zero) return 1;
  return shape.epilogue.act == Activation::none ? std::sqrt(static_cast<double>(shape.k)) : kCurvedSize;
}

/// The power of two by which weights are multiplied so that the sums of a problem with an activation have kCurvedSize.
float weight_factor(const GemmShape& shape) {
  if (shape.epilogue.act == Activation::none) return 1;
  return static_cast<float>(
      std::exp2(std::round(std::log2(kCurvedSize) - std::log2(static_cast<double>(shape.k)) / 2)));
}

/// A factor that is far from 0 and 1, so that no kernel can do without it: ±1.25 to ±1.75, or ±2 and ±3.
float factor_value(Distribution distribution, uint64_t seed) {
  const uint64_t random = derive_seed(seed, "factor");
  const float sign = (random & 1) != 0 ? -1.0f : 1.0f;
  if (distribution == Distribution::integers) return sign * ((random & 2) != 0 ? 2.0f : 3.0f);
  return sign * (1.25f + 0.5f * static_cast<float>(random >> 40) / static_cast<float>(1 << 24));
}

}  // namespace

GemmShape GemmShape::of(const Problem& problem) {
  return {problem.integer("m"),
          problem.integer("n"),
          problem.integer("k"),
          problem.dtype("dtype"),
          problem.dtype("outdtype"),
          problem.integer_or("bias", 0) != 0,
          problem.integer_or("trans_a", 0) != 0,
          problem.integer_or("trans_b", 1) == 0,
          problem.integer_or("bpreshuffle", 0) != 0,
          GemmEpilogue::of(problem)};
}

const FamilySpec& GemmOp::family() const { return gemm_a16w16_family(); }

Problem GemmOp::normalise(const Problem& problem, const DeviceInfo& device) const {
  Problem whole = normalised(problem, family(), device);
  const auto shape = GemmShape::of(whole);
  if (shape.packed && shape.b_is_kn)
    fail(ErrorCode::invalid_input, "weights that are packed ahead (bpreshuffle=1) must be N×K, use trans_b=1");
  return whole;
}

Work GemmOp::work(const Problem& problem) const {
  const auto shape = GemmShape::of(problem);
  const bool has_product = shape.epilogue.alpha != Factor::zero;
  double bytes = 0;
  for (const TensorSpec& tensor : tensors(problem)) {
    if (has_product || (tensor.role != "a" && tensor.role != "b")) bytes += static_cast<double>(tensor.bytes());
  }
  // The operations of an epilogue are not counted, as others do not count them.
  return {.flops = 2 * (has_product ? shape.macs() : static_cast<double>(shape.m) * static_cast<double>(shape.n)),
          .bytes = bytes,
          .arithmetic = shape.in};
}

std::vector<TensorSpec> GemmOp::tensors(const Problem& problem) const {
  const auto shape = GemmShape::of(problem);
  const auto matrix = [](int64_t rows, int64_t columns, bool transposed) {
    return transposed ? std::vector<int64_t>{columns, rows} : std::vector<int64_t>{rows, columns};
  };
  std::vector<TensorSpec> tensors;
  tensors.push_back(
      {.role = "a", .dtype = shape.in, .shape = matrix(shape.m, shape.k, shape.trans_a), .use = Use::activation});
  tensors.push_back({.role = "b",
                     .dtype = shape.in,
                     .shape = matrix(shape.n, shape.k, shape.b_is_kn),
                     .use = Use::weight,
                     .is_packed = shape.packed});
  if (shape.bias) tensors.push_back({.role = "bias", .dtype = shape.in, .shape = {shape.n}, .use = Use::weight});
  if (shape.epilogue.beta != Factor::zero)
    tensors.push_back({.role = "residual", .dtype = shape.out, .shape = {shape.m, shape.n}, .use = Use::activation});
  const auto push_number = [&](bool is_there, const char* role) {
    if (is_there) tensors.push_back({.role = role, .dtype = DType::fp32, .shape = {1}, .use = Use::scale});
  };
  push_number(shape.epilogue.alpha == Factor::any, "alpha");
  push_number(shape.epilogue.beta == Factor::any, "beta");
  push_number(shape.epilogue.out_scale, "out_scale");
  tensors.push_back({.role = "c", .dtype = shape.out, .shape = {shape.m, shape.n}, .use = Use::output});
  // The alignment of every allocator (malloc, NumPy); a kernel must not rely on more. Timed copies are better aligned
  // (rotation.h).
  for (TensorSpec& tensor : tensors) tensor.alignment_bytes = 16;
  return tensors;
}

std::vector<TensorFill> GemmOp::fills(const Problem& problem, Distribution distribution, uint64_t seed) const {
  const auto specs = tensors(problem);
  const float of_weights = weight_factor(GemmShape::of(problem));
  std::vector<TensorFill> fills;
  for (size_t i = 0; i + 1 < specs.size(); ++i) {
    TensorFill& how = fills.emplace_back(TensorFill{.dtype = specs[i].dtype, .seed = seed + i});
    if (specs[i].use == Use::scale) {
      how.number = factor_value(distribution, seed + i);
    } else if (distribution == Distribution::normal) {
      how.values = TensorFill::Values::normal;
      if (specs[i].role == "b") how.factor = of_weights;
    } else {
      how.values = TensorFill::Values::integers;
      how.limit = 4;
    }
  }
  return fills;
}

std::vector<OperandStretch> GemmOp::inputs_of(const Problem& problem, int64_t row, int64_t column) const {
  const auto shape = GemmShape::of(problem);
  const auto where = GemmOperands::of(shape);
  std::vector<OperandStretch> inputs = {
      shape.trans_a ? OperandStretch{where.a, row, shape.k, shape.m} : OperandStretch{where.a, row * shape.k, shape.k},
      shape.b_is_kn ? OperandStretch{where.b, column, shape.k, shape.n}
                    : OperandStretch{where.b, column * shape.k, shape.k}};
  if (shape.bias) inputs.push_back({where.bias, column, 1});
  if (shape.epilogue.beta != Factor::zero) inputs.push_back({where.residual, row * shape.n + column, 1});
  if (shape.epilogue.alpha == Factor::any) inputs.push_back({where.alpha, 0, 1});
  if (shape.epilogue.beta == Factor::any) inputs.push_back({where.beta, 0, 1});
  if (shape.epilogue.out_scale) inputs.push_back({where.out_scale, 0, 1});
  return inputs;
}

void GemmOp::fill(const Problem& problem, Distribution distribution, uint64_t seed, const HostTensors& tensors) const {
  const auto how = fills(problem, distribution, seed);
  for (size_t i = 0; i < how.size(); ++i) fill_tensor(how[i], tensors.operands[i]);
}

std::vector<SpecialValue> GemmOp::special_values(const Problem& problem) const {
  constexpr int64_t kFewRows = 8, kManyRows = 16;
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const auto shape = GemmShape::of(problem);
  const bool is_in_a = shape.m >= shape.n;
  const int64_t rows = is_in_a ? shape.m : shape.n, other_rows = is_in_a ? shape.n : shape.m, k = shape.k;
  if (rows < kFewRows) return {};
  const auto of = [&](bool in_a, int64_t row, int64_t at, float value) {
    const auto where = GemmOperands::of(shape);
    const bool is_k_first = in_a ? shape.trans_a : shape.b_is_kn;
    const int64_t index = is_k_first ? at * (in_a ? shape.m : shape.n) + row : row * k + at;
    return SpecialValue{in_a ? where.a : where.b, index, value};
  };
  // At the ends of rows, where padding and reads beyond an end begin.
  std::vector<SpecialValue> values = {of(is_in_a, rows / 3, 0, kNan), of(is_in_a, rows / 2, k - 1, kInfinity)};
  if (rows < kManyRows) return values;
  if (shape.epilogue.act == Activation::none) {
    // One large term a sum: two of them may overflow on the way to a finite sum.
    const float large = shape.in == DType::fp16 ? 0x1.8p15f : 0x1.8p127f;
    values.push_back(of(is_in_a, 0, k / 3, -kInfinity));
    values.push_back(of(is_in_a, rows - 1, k / 2, large));
  }
  if (other_rows >= kManyRows) values.push_back(of(!is_in_a, other_rows / 2, 0, kNan));
  return values;
}

void GemmOp::reference(const Problem& problem, Path path, const HostTensors& tensors, const ReferencePart& out) const {
  const auto shape = GemmShape::of(problem);
  if (path == Path::naive)
    naive_gemm(shape, tensors, out);
  else
    fast_gemm(shape, tensors, out);
}

std::optional<ReferenceKernel> GemmOp::reference_kernel(const Problem& problem) const {
  return gemm_reference_kernel(GemmShape::of(problem));
}

Tolerance GemmOp::tolerance(const Problem& problem) const {
  const auto shape = GemmShape::of(problem);
  const double root_k = std::sqrt(static_cast<double>(shape.k));
  const double rtol = shape.out == DType::fp32 ? 1e-4 : 2 * Rounding::of(shape.out).unit;
  // Accumulation in fp32 of K terms of random sign errs by about 0.35·√K·eps of the typical |dot|; the largest of 10^8
  // elements is below six such deviations. Accumulating in bf16 is 2^16 times worse, so the factor is not delicate.
  // Matrix units of GPUs truncate the sum after every few products, which errs in one direction: of 9·10^7 elements
  // with K = 18432 the worst was off by 0.04·K·eps on an H200; if they did so after each 16, it would be 0.3·K·eps. A
  // missing product changes a sum by 1/√K, which is 15 times the bound at K = 16384.
  const double of_truncation = shape.in == DType::fp32 ? 0 : static_cast<double>(shape.k) / 2;
  return {.rtol = rtol,
          .atol = rtol * 0.1 * typical_size(shape),
          .max_relative = (4 * root_k + of_truncation) * Rounding::of(DType::fp32).unit,
          .max_cosine = shape.out == DType::fp32 ? 1e-9 : 1e-5};
}

void register_gemm_ops(std::vector<const Op*>& ops);
void register_gemm_ops(std::vector<const Op*>& ops) {
  static const GemmOp op;
  ops.push_back(&op);
}

}  // namespace attune
