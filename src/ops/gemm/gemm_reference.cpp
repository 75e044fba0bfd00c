// SPDX-License-Identifier: MIT
#include "ops/gemm/gemm_reference.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "ops/dot_block.h"
#include "tensor/convert.h"

namespace attune {
namespace {

double element(DType dtype, const std::byte* stored, int64_t index) {
  float value = 0;
  to_float(dtype, stored + index * bits(dtype) / 8, std::span(&value, 1));
  return value;
}

/// Widens a row of op(X) to float: X is rows×k row-major, or k×rows when transposed.
void load_row(const GemmShape& shape, const std::byte* stored, bool transposed, int64_t rows, int64_t row,
              std::span<float> out) {
  const int64_t size = bits(shape.in) / 8;
  if (!transposed) return to_float(shape.in, stored + row * shape.k * size, out.first(static_cast<size_t>(shape.k)));
  for (int64_t k = 0; k < shape.k; ++k)
    out[static_cast<size_t>(k)] = static_cast<float>(element(shape.in, stored, k * rows + row));
}

double norm(std::span<const float> row) {
  double sum = 0;
  for (const float value : row) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

/// Rows of op(X) widened to float and padded with zero rows and columns to whole blocks.
struct Panel {
  int64_t stride = 0;
  std::vector<float> values;
  std::vector<double> norms;

  void load(const GemmShape& shape, const std::byte* stored, bool transposed, int64_t rows, IndexRange range,
            int block) {
    stride = (shape.k + kDotLanes - 1) / kDotLanes * kDotLanes;
    const int64_t count = range.size(), padded = (count + block - 1) / block * block;
    values.assign(static_cast<size_t>(padded * stride), 0.0f);
    norms.assign(static_cast<size_t>(padded), 0.0);
    for (int64_t row = 0; row < count; ++row) {
      const auto out = std::span(values).subspan(static_cast<size_t>(row * stride), static_cast<size_t>(shape.k));
      load_row(shape, stored, transposed, rows, range.begin + row, out);
      norms[static_cast<size_t>(row)] = norm(out);
    }
  }
};

double activated_by_definition(Activation act, double x) {
  switch (act) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::gelu:
      return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
      return x / (1 + std::exp(-x));
  }
  return x;
}

/// The same functions by other formulas: the complement of erf, and sigmoids and tanh in terms of each other.
double activated_by_identity(Activation act, double x) {
  switch (act) {
    case Activation::none:
      return x;
    case Activation::relu:
      return (x + std::abs(x)) / 2;
    case Activation::gelu:
      return x / 2 * std::erfc(-x * std::numbers::sqrt2 / 2);
    case Activation::gelu_tanh:
      return x / (1 + std::exp(-2 * std::sqrt(2 * std::numbers::inv_pi) * x * (1 + 0.044715 * x * x)));
    case Activation::silu:
      return x * (0.5 + std::tanh(x / 2) / 2);
  }
  return x;
}

/// Finishes elements: the epilogue with its operands, and the scale of the result's error bound.
class Finish {
 public:
  using Activate = double (*)(Activation act, double x);
  Finish(const GemmShape& shape, const HostTensors& tensors, Activate activate)
      : shape_(shape), activate_(activate), root_k_(std::sqrt(static_cast<double>(shape.k))) {
    const auto where = GemmOperands::of(shape);
    const auto number = [&](bool is_there, size_t operand, double default_value) {
      return is_there ? element(DType::fp32, tensors.operands[operand].data(), 0) : default_value;
    };
    const GemmEpilogue& epilogue = shape.epilogue;
    alpha_ = number(epilogue.alpha == Factor::any, where.alpha, epilogue.alpha == Factor::zero ? 0 : 1);
    beta_ = number(epilogue.beta == Factor::any, where.beta, epilogue.beta == Factor::zero ? 0 : 1);
    out_scale_ = number(epilogue.out_scale, where.out_scale, 1);
    if (shape.bias) bias_ = tensors.operands[where.bias].data();
    if (epilogue.beta != Factor::zero) residual_ = tensors.operands[where.residual].data();
  }

  bool has_product() const { return shape_.epilogue.alpha != Factor::zero; }

  /// `scale`: of the product, ‖a_row‖·‖b_row‖/√K.
  void operator()(double sum, double scale, int64_t row, int64_t column, const ReferencePart& out) const {
    const double bias = bias_ != nullptr ? element(shape_.in, bias_, column) : 0.0;
    if (shape_.epilogue.is_none()) {
      out.set(row, column, sum + bias, scale);
      return;
    }
    const double product = has_product() ? alpha_ * sum : 0;
    const double added = residual_ != nullptr ? beta_ * element(shape_.out, residual_, row * shape_.n + column) : 0;
    const double before = product + bias + added;
    if (!is_activation_defined(shape_.epilogue.act, before)) return out.set(row, column, before, -1);
    const double value = out_scale_ * activate_(shape_.epilogue.act, before);
    // The op's bound is 4·√K·eps of a scale, so this is 8·eps of the terms: an eps for the rounding of each step that
    // follows the product, and the rest for the activation as kernels compute it in fp32.
    const double rounding = 2 * (std::abs(product) + std::abs(bias) + std::abs(added)) / root_k_;
    const double slope = std::abs(out_scale_) * steepest_slope(shape_.epilogue.act);
    out.set(row, column, value, slope * (std::abs(alpha_) * scale + rounding));
  }

 private:
  const GemmShape& shape_;
  Activate activate_;
  double root_k_, alpha_ = 1, beta_ = 0, out_scale_ = 1;
  const std::byte *bias_ = nullptr, *residual_ = nullptr;
};

}  // namespace

void naive_gemm(const GemmShape& shape, const HostTensors& tensors, const ReferencePart& out) {
  const auto where = GemmOperands::of(shape);
  const auto* a = tensors.operands[where.a].data();
  const auto* b = tensors.operands[where.b].data();
  const Finish finish(shape, tensors, activated_by_definition);
  for (int64_t i = out.rows.begin; i < out.rows.end; ++i) {
    for (int64_t j = out.columns.begin; j < out.columns.end; ++j) {
      double sum = 0, left = 0, right = 0;
      for (int64_t k = 0; k < shape.k && finish.has_product(); ++k) {
        const double x = element(shape.in, a, shape.trans_a ? k * shape.m + i : i * shape.k + k);
        const double w = element(shape.in, b, shape.b_is_kn ? k * shape.n + j : j * shape.k + k);
        sum += x * w;
        left += x * x;
        right += w * w;
      }
      finish(sum, std::sqrt(left) * std::sqrt(right) / std::sqrt(static_cast<double>(shape.k)), i, j, out);
    }
  }
}

void fast_gemm(const GemmShape& shape, const HostTensors& tensors, const ReferencePart& out) {
  const IndexRange rows = out.rows, columns = out.columns;
  const auto where = GemmOperands::of(shape);
  const Finish finish(shape, tensors, activated_by_identity);
  if (!finish.has_product()) {
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int64_t j = columns.begin; j < columns.end; ++j) finish(0, 0, i, j, out);
    }
    return;
  }
  // Panels of B stay in the L2 cache (about 1 MiB) while all rows of A are processed, kDotRows at a time.
  const int64_t columns_at_once =
      std::clamp<int64_t>((1 << 18) / std::max<int64_t>(shape.k, 1) / kDotRows * kDotRows, kDotRows, 256);
  Panel left, right;
  left.load(shape, tensors.operands[where.a].data(), shape.trans_a, shape.m, rows, kDotRows);
  const double root_k = std::sqrt(static_cast<double>(shape.k));
  for (int64_t first = columns.begin; first < columns.end; first += columns_at_once) {
    const int64_t last = std::min(columns.end, first + columns_at_once);
    right.load(shape, tensors.operands[where.b].data(), shape.b_is_kn, shape.n, {first, last}, kDotRows);
    for (int64_t i = 0; i < rows.size(); i += kDotRows) {
      for (int64_t j = 0; j < last - first; j += kDotRows) {
        double sums[kDotRows * kDotRows];
        dot_block(left.values.data() + i * left.stride, right.values.data() + j * right.stride, left.stride,
                  left.stride, sums);
        for (int64_t y = i; y < std::min(i + kDotRows, rows.size()); ++y) {
          for (int64_t x = j; x < std::min(j + kDotRows, last - first); ++x) {
            const double scale = left.norms[static_cast<size_t>(y)] * right.norms[static_cast<size_t>(x)] / root_k;
            finish(sums[(y - i) * kDotRows + (x - j)], scale, rows.begin + y, first + x, out);
          }
        }
      }
    }
  }
}

}  // namespace attune
