// SPDX-License-Identifier: MIT
#include "ops/quantised_gemm/quantised_gemm_reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ops/dot_block.h"
#include "tensor/convert.h"

namespace attune {
namespace {

/// One matrix of the product with its scales.
class Matrix {
 public:
  Matrix(const QuantisedGemm& shape, const std::byte* stored, const std::byte* scales, const ScaleGroups& groups,
         int64_t rows)
      : dtype_(shape.in), stored_(stored), groups_(groups), k_(shape.k) {
    scales_.resize(static_cast<size_t>(groups.num_rows(rows) * groups.num_columns(shape.k)));
    to_double(shape.scale, scales, scales_);
  }
  /// The stored numbers of a row.
  void read(int64_t row, std::span<float> values) const {
    to_float(dtype_, stored_ + static_cast<size_t>(row) * stored_bytes(bits(dtype_), static_cast<size_t>(k_)), values);
  }
  double scale(int64_t row, int64_t at) const { return scales_[static_cast<size_t>(groups_.index(row, at, k_))]; }

 private:
  DType dtype_;
  const std::byte* stored_;
  ScaleGroups groups_;
  int64_t k_;
  std::vector<double> scales_;
};

/// The operands of a call.
struct Operands {
  Matrix a, b;
  std::vector<double> bias;  ///< Zeros without one.

  Operands(const QuantisedGemm& shape, const HostTensors& tensors)
      : a(shape, at(tensors, 0), at(tensors, QuantisedOperands::of(shape).a_scale), shape.a_scales, shape.m),
        b(shape, at(tensors, 1), at(tensors, QuantisedOperands::of(shape).b_scale), shape.b_scales, shape.n),
        bias(static_cast<size_t>(shape.n)) {
    if (shape.bias) to_double(shape.out, at(tensors, QuantisedOperands::of(shape).bias), bias);
  }
  static const std::byte* at(const HostTensors& tensors, size_t operand) { return tensors.operands[operand].data(); }
};

/// Elements along K that have one scale in both matrices.
int64_t depth_of(const QuantisedGemm& shape) {
  const auto depth_or_all = [&](int64_t depth) { return depth == 0 ? shape.k : depth; };
  return std::min(depth_or_all(shape.a_scales.depth), depth_or_all(shape.b_scales.depth));
}

/// Some rows of a matrix, padded with zeros to whole blocks, with the mean square of each group of each row with its
/// scales.
struct Panel {
  int64_t stride = 0, num_groups = 0;
  std::vector<float> values;
  std::vector<double> squares;

  void load(const Matrix& matrix, int64_t k, int64_t depth, IndexRange rows) {
    stride = (k + kDotLanes - 1) / kDotLanes * kDotLanes;
    num_groups = (k + depth - 1) / depth;
    const int64_t padded = (rows.size() + kDotRows - 1) / kDotRows * kDotRows;
    values.assign(static_cast<size_t>(padded * stride), 0.0f);
    squares.assign(static_cast<size_t>(padded * num_groups), 0.0);
    for (int64_t row = 0; row < rows.size(); ++row) {
      const auto out = std::span(values).subspan(static_cast<size_t>(row * stride), static_cast<size_t>(k));
      matrix.read(rows.begin + row, out);
      for (int64_t group = 0; group < num_groups; ++group) {
        const int64_t begin = group * depth, end = std::min(k, begin + depth);
        double sum = 0;
        for (int64_t at = begin; at < end; ++at) {
          const double value = out[static_cast<size_t>(at)];
          sum += value * value;
        }
        const double scale = matrix.scale(rows.begin + row, begin);
        squares[static_cast<size_t>(row * num_groups + group)] = sum * scale * scale / static_cast<double>(end - begin);
      }
    }
  }
  /// Of a row.
  const double* squares_of(int64_t row) const { return squares.data() + row * num_groups; }
};

}  // namespace

void naive_quantised_gemm(const QuantisedGemm& shape, const HostTensors& tensors, const ReferencePart& out) {
  const Operands in(shape, tensors);
  const int64_t depth = depth_of(shape);
  std::vector<float> left(static_cast<size_t>(shape.k)), right(left.size());
  for (int64_t i = out.rows.begin; i < out.rows.end; ++i) {
    in.a.read(i, left);
    for (int64_t j = out.columns.begin; j < out.columns.end; ++j) {
      in.b.read(j, right);
      double sum = 0, squares = 0;
      for (int64_t begin = 0; begin < shape.k; begin += depth) {
        const int64_t end = std::min(shape.k, begin + depth);
        double of_left = 0, of_right = 0;
        for (int64_t at = begin; at < end; ++at) {
          const double x = static_cast<double>(left[static_cast<size_t>(at)]) * in.a.scale(i, at);
          const double w = static_cast<double>(right[static_cast<size_t>(at)]) * in.b.scale(j, at);
          sum += x * w;
          of_left += x * x;
          of_right += w * w;
        }
        squares += of_left * of_right / static_cast<double>(end - begin);
      }
      out.set(i, j, sum + in.bias[static_cast<size_t>(j)], std::sqrt(squares));
    }
  }
}

void fast_quantised_gemm(const QuantisedGemm& shape, const HostTensors& tensors, const ReferencePart& out) {
  const Operands in(shape, tensors);
  const int64_t depth = depth_of(shape);
  // Panels of b stay in the L2 cache while all rows of a are processed.
  const int64_t columns_at_once = std::clamp<int64_t>((1 << 18) / shape.k / kDotRows * kDotRows, kDotRows, 256);
  Panel left, right;
  left.load(in.a, shape.k, depth, out.rows);
  for (int64_t first = out.columns.begin; first < out.columns.end; first += columns_at_once) {
    const int64_t last = std::min(out.columns.end, first + columns_at_once);
    right.load(in.b, shape.k, depth, {first, last});
    for (int64_t i = 0; i < out.rows.size(); i += kDotRows) {
      for (int64_t j = 0; j < last - first; j += kDotRows) {
        const int64_t num_rows = std::min<int64_t>(kDotRows, out.rows.size() - i);
        const int64_t num_columns = std::min<int64_t>(kDotRows, last - first - j);
        std::array<double, kDotRows * kDotRows> sums{};
        for (int64_t at = 0; at < shape.k; at += depth) {
          std::array<double, kDotRows * kDotRows> of_group;
          const int64_t end = std::min(at + depth, left.stride);
          dot_block(left.values.data() + i * left.stride + at, right.values.data() + j * right.stride + at, left.stride,
                    at + depth >= shape.k ? left.stride - at : end - at, of_group.data());
          for (int64_t y = 0; y < num_rows; ++y) {
            for (int64_t x = 0; x < num_columns; ++x) {
              const auto place = static_cast<size_t>(y * kDotRows + x);
              sums[place] += of_group[place] * in.a.scale(out.rows.begin + i + y, at) * in.b.scale(first + j + x, at);
            }
          }
        }
        for (int64_t y = 0; y < num_rows; ++y) {
          for (int64_t x = 0; x < num_columns; ++x) {
            const double *of_left = left.squares_of(i + y), *of_right = right.squares_of(j + x);
            double squares = 0;
            for (int64_t group = 0; group < left.num_groups; ++group) {
              const int64_t length = std::min(depth, shape.k - group * depth);
              squares += of_left[group] * of_right[group] * static_cast<double>(length);
            }
            out.set(out.rows.begin + i + y, first + j + x,
                    sums[static_cast<size_t>(y * kDotRows + x)] + in.bias[static_cast<size_t>(first + j + x)],
                    std::sqrt(squares));
          }
        }
      }
    }
  }
}

}  // namespace attune
