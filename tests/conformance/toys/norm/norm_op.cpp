// SPDX-License-Identifier: MIT
#include "norm_op.h"

#include <cmath>
#include <numeric>

#include "tensor/random_fill.h"

namespace attune::toys {

const FamilySpec& NormOp::family() const {
  static constexpr std::string_view kSamples[] = {"token=1 dim=1", "token=3 dim=64", "token=17 dim=101",
                                                  "token=2 dim=1000"};
  static const FamilySpec family = {
      .op = "toy_norm",
      .title = "rows scaled to one size, for tests",
      .default_file = "toy_norm_tuned.csv",
      .stem = "toy_norm",
      .variable = "TOY_NORM",
      .key = {{.name = "token", .column = "token", .help = "rows of x"},
              {.name = "dim", .column = "dim", .help = "columns of x"}},
      .results = {"kernelId", "us", "kernelName", "tflops", "bw", "errRatio"},
      .baselines = {"toy_norm.loops"},
      .rows = "token",
      .columns = "dim",
      .pads_rows = true,
      .samples = kSamples,
  };
  return family;
}

Work NormOp::work(const Problem& problem) const {
  const auto shape = NormShape::of(problem);
  Work work{.flops = 4.0 * static_cast<double>(shape.token) * static_cast<double>(shape.dim)};
  for (const TensorSpec& tensor : tensors(problem)) work.bytes += static_cast<double>(tensor.bytes());
  return work;
}

std::vector<TensorSpec> NormOp::tensors(const Problem& problem) const {
  const auto shape = NormShape::of(problem);
  return {{.role = "x", .dtype = DType::fp32, .shape = {shape.token, shape.dim}},
          {.role = "w", .dtype = DType::fp32, .shape = {shape.dim}, .use = Use::weight},
          {.role = "y", .dtype = DType::fp32, .shape = {shape.token, shape.dim}, .use = Use::output}};
}

void NormOp::fill(const Problem& problem, Distribution distribution, uint64_t seed, const HostTensors& tensors) const {
  const size_t num_inputs = this->tensors(problem).size() - 1;
  for (size_t i = 0; i < num_inputs; ++i) {
    if (distribution == Distribution::normal)
      fill_normal(DType::fp32, seed + i, tensors.operands[i]);
    else
      fill_integers(DType::fp32, seed + i, 4, tensors.operands[i]);
  }
}

void NormOp::reference(const Problem& problem, Path path, const HostTensors& tensors, const ReferencePart& out) const {
  const auto shape = NormShape::of(problem);
  const auto* x = reinterpret_cast<const float*>(tensors.operands[0].data());
  const auto* w = reinterpret_cast<const float*>(tensors.operands[1].data());
  const auto dim = static_cast<size_t>(shape.dim);
  for (int64_t i = out.rows.begin; i < out.rows.end; ++i) {
    const std::span row(x + i * shape.dim, dim);
    double squares = 0;
    if (path == Path::naive) {
      for (size_t j = 0; j < dim; ++j) squares += static_cast<double>(row[j]) * static_cast<double>(row[j]);
    } else {
      squares = std::transform_reduce(row.rbegin(), row.rend(), 0.0, std::plus<>(),
                                      [](float one) { return static_cast<double>(one) * static_cast<double>(one); });
    }
    const double root = std::sqrt(squares / static_cast<double>(dim) + kNormEpsilon);
    for (int64_t j = out.columns.begin; j < out.columns.end; ++j) {
      const double value = static_cast<double>(w[j]) * static_cast<double>(row[static_cast<size_t>(j)]) / root;
      out.set(i, j, value, std::abs(value));
    }
  }
}

Tolerance NormOp::tolerance(const Problem&) const {
  // A sum of positive terms in fp32 errs by at most the number of its terms in units, here in lanes of sixteen.
  return {.rtol = 1e-4, .atol = 1e-5, .max_relative = 1e-4, .max_cosine = 1e-9};
}

}  // namespace attune::toys
