// SPDX-License-Identifier: MIT
#include "scaled_op.h"

#include <cmath>

#include "tensor/random_fill.h"
#include "tensor/rounding.h"

namespace attune::toys {
namespace {

struct Operands {
  const int8_t *a, *b;
  const float *a_scale, *b_scale;
};

Operands operands_of(const HostTensors& tensors) {
  const auto at = [&](size_t i) { return tensors.operands[i].data(); };
  return {reinterpret_cast<const int8_t*>(at(0)), reinterpret_cast<const int8_t*>(at(1)),
          reinterpret_cast<const float*>(at(2)), reinterpret_cast<const float*>(at(3))};
}

/// Of a format that no op of this build computes.
std::optional<Problem> int4_product(const ModelLayer& layer) {
  if (layer.format != WeightFormat::int4_experts || layer.experts != nullptr) return std::nullopt;
  return product_of_layer("toy_scaled", layer);
}

}  // namespace

const FamilySpec& ScaledOp::family() const {
  static constexpr std::string_view kSamples[] = {"m=1 n=1 k=1", "m=3 n=5 k=64", "m=17 n=33 k=101", "m=2 n=40 k=1000",
                                                  "m=7 n=9 k=65 packed=1"};
  static const FamilySpec family = {
      .op = "toy_scaled",
      .title = "an int8 product with two scales, for tests",
      .default_file = "toy_scaled_tuned.csv",
      .stem = "toy_scaled",
      .variable = "TOY_SCALED",
      .key = {{.name = "m", .column = "M", .help = "rows of x"},
              {.name = "n", .column = "N", .help = "outputs"},
              {.name = "k", .column = "K", .help = "columns of x"},
              {.name = "packed",
               .column = "packed",
               .kind = ColumnKind::flag,
               .default_value = "0",
               .always = false,
               .optional = true,
               .help = "b and its scales are packed ahead"}},
      .results = {"kernelId", "splitK", "us", "kernelName", "tflops", "bw", "errRatio"},
      .baselines = {"toy_scaled.loops"},
      .rows = "m",
      .columns = "n",
      .packed = "packed",
      .pads_rows = true,
      .of_layer = int4_product,
      .samples = kSamples,
  };
  return family;
}

Work ScaledOp::work(const Problem& problem) const {
  const auto shape = ScaledShape::of(problem);
  Work work{.flops = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k)};
  for (const TensorSpec& tensor : tensors(problem)) work.bytes += static_cast<double>(tensor.bytes());
  return work;
}

std::vector<TensorSpec> ScaledOp::tensors(const Problem& problem) const {
  const auto shape = ScaledShape::of(problem);
  return {
      {.role = "a", .dtype = DType::int8, .shape = {shape.m, shape.k}},
      {.role = "b", .dtype = DType::int8, .shape = {shape.n, shape.k}, .use = Use::weight, .is_packed = shape.packed},
      {.role = "a_scale", .dtype = DType::fp32, .shape = {shape.m}, .use = Use::scale},
      {.role = "b_scale", .dtype = DType::fp32, .shape = {shape.n}, .use = Use::scale, .is_packed = shape.packed},
      {.role = "c", .dtype = DType::bf16, .shape = {shape.m, shape.n}, .use = Use::output}};
}

void ScaledOp::fill(const Problem& problem, Distribution distribution, uint64_t seed,
                    const HostTensors& tensors) const {
  const auto specs = this->tensors(problem);
  const bool is_exact = distribution == Distribution::integers;
  for (size_t i = 0; i + 1 < specs.size(); ++i) {
    if (specs[i].use == Use::scale)
      fill_scales(specs[i].dtype, seed + i, is_exact ? ScaleValues::exact : ScaleValues::any, tensors.operands[i]);
    else if (is_exact)
      fill_integers(specs[i].dtype, seed + i, 4, tensors.operands[i]);
    else
      fill_normal(specs[i].dtype, seed + i, tensors.operands[i]);
  }
}

/// The fast path differs from the naive one in the order of its loops and in the type of its sums.
void ScaledOp::reference(const Problem& problem, Path path, const HostTensors& tensors,
                         const ReferencePart& out) const {
  const auto shape = ScaledShape::of(problem);
  const Operands in = operands_of(tensors);
  for (int64_t i = out.rows.begin; i < out.rows.end; ++i) {
    for (int64_t j = out.columns.begin; j < out.columns.end; ++j) {
      const int8_t *a = in.a + i * shape.k, *b = in.b + j * shape.k;
      double sum = 0, size = 0;
      if (path == Path::naive) {
        for (int64_t l = 0; l < shape.k; ++l) {
          const double term = static_cast<double>(a[l]) * static_cast<double>(b[l]);
          sum += term;
          size += term * term;
        }
      } else {
        int64_t whole = 0, squares = 0;
        for (int64_t l = shape.k; l-- > 0;) {
          const int64_t term = int64_t{a[l]} * b[l];
          whole += term;
          squares += term * term;
        }
        sum = static_cast<double>(whole);
        size = static_cast<double>(squares);
      }
      const double scale = static_cast<double>(in.a_scale[i]) * static_cast<double>(in.b_scale[j]);
      out.set(i, j, sum * scale, std::sqrt(size) * scale);
    }
  }
}

Tolerance ScaledOp::tolerance(const Problem& problem) const {
  // The sum is exact in int32; two products in fp32 and the rounding to bf16 remain.
  const double root_k = std::sqrt(static_cast<double>(ScaledShape::of(problem).k));
  const double rtol = 2 * Rounding::of(DType::bf16).unit;
  return {.rtol = rtol,
          .atol = rtol * 0.1 * root_k,
          .max_relative = 4 * root_k * Rounding::of(DType::fp32).unit,
          .max_cosine = 1e-5};
}

}  // namespace attune::toys
