// SPDX-License-Identifier: MIT
#include "ops/gemm/gemm_reference.h"

#include <algorithm>
#include <cmath>
#include <vector>

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

constexpr int kRows = 4, kColumns = 4, kLanes = 8;

/// Computes kRows × kColumns dot products of rows padded to a multiple of kLanes. Lanes are explicit so that the
/// compiler keeps the sums in vector registers; target clones let one binary use the machine's widest vectors.
#ifndef __SANITIZE_THREAD__  // Its runtime is not initialised when the clones are selected.
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
__attribute__((optimize("O3"))) void
dot_block(const float* a, const float* b, int64_t stride, double* sums) {
  typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double))));
  typedef float Floats __attribute__((vector_size(kLanes * sizeof(float))));
  Lanes total[kRows][kColumns] = {};
  for (int64_t k = 0; k < stride; k += kLanes) {
    Lanes right[kColumns];
    for (int j = 0; j < kColumns; ++j) {
      Floats raw;
      __builtin_memcpy(&raw, b + j * stride + k, sizeof raw);
      right[j] = __builtin_convertvector(raw, Lanes);
    }
    for (int i = 0; i < kRows; ++i) {
      Floats raw;
      __builtin_memcpy(&raw, a + i * stride + k, sizeof raw);
      const Lanes left = __builtin_convertvector(raw, Lanes);
      for (int j = 0; j < kColumns; ++j) total[i][j] += left * right[j];
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      double sum = 0;
      for (int lane = 0; lane < kLanes; ++lane) sum += total[i][j][lane];
      sums[i * kColumns + j] = sum;
    }
  }
}

/// Rows of op(X) widened to float and padded with zero rows and columns to whole blocks.
struct Panel {
  int64_t stride = 0;
  std::vector<float> values;
  std::vector<double> norms;

  void load(const GemmShape& shape, const std::byte* stored, bool transposed, int64_t rows, RowRange range, int block) {
    stride = (shape.k + kLanes - 1) / kLanes * kLanes;
    const int64_t count = range.end - range.begin, padded = (count + block - 1) / block * block;
    values.assign(static_cast<size_t>(padded * stride), 0.0f);
    norms.assign(static_cast<size_t>(padded), 0.0);
    for (int64_t row = 0; row < count; ++row) {
      const auto out = std::span(values).subspan(static_cast<size_t>(row * stride), static_cast<size_t>(shape.k));
      load_row(shape, stored, transposed, rows, range.begin + row, out);
      norms[static_cast<size_t>(row)] = norm(out);
    }
  }
};

double bias_of(const GemmShape& shape, const HostTensors& tensors, int64_t column) {
  return shape.bias ? element(shape.in, tensors.operands[GemmOperands{}.bias].data(), column) : 0.0;
}

}  // namespace

void naive_gemm(const GemmShape& shape, RowRange rows, const HostTensors& tensors, Reference& out) {
  const auto where = GemmOperands::of(shape);
  const auto* a = tensors.operands[where.a].data();
  const auto* b = tensors.operands[where.b].data();
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    for (int64_t j = 0; j < shape.n; ++j) {
      double sum = 0, left = 0, right = 0;
      for (int64_t k = 0; k < shape.k; ++k) {
        const double x = element(shape.in, a, shape.trans_a ? k * shape.m + i : i * shape.k + k);
        const double w = element(shape.in, b, shape.b_is_kn ? k * shape.n + j : j * shape.k + k);
        sum += x * w;
        left += x * x;
        right += w * w;
      }
      const auto at = static_cast<size_t>(i * shape.n + j);
      out.values[at] = sum + bias_of(shape, tensors, j);
      out.scales[at] = std::sqrt(left) * std::sqrt(right) / std::sqrt(static_cast<double>(shape.k));
    }
  }
}

void fast_gemm(const GemmShape& shape, RowRange rows, const HostTensors& tensors, Reference& out) {
  const auto where = GemmOperands::of(shape);
  // Panels of B stay in the L2 cache (about 1 MiB) while all rows of A are processed, kRows at a time.
  const int64_t columns_at_once =
      std::clamp<int64_t>((1 << 18) / std::max<int64_t>(shape.k, 1) / kColumns * kColumns, kColumns, 256);
  Panel left, right;
  left.load(shape, tensors.operands[where.a].data(), shape.trans_a, shape.m, rows, kRows);
  const double root_k = std::sqrt(static_cast<double>(shape.k));
  for (int64_t first = 0; first < shape.n; first += columns_at_once) {
    const int64_t last = std::min(shape.n, first + columns_at_once);
    right.load(shape, tensors.operands[where.b].data(), shape.b_is_kn, shape.n, {first, last}, kColumns);
    for (int64_t i = 0; i < rows.end - rows.begin; i += kRows) {
      for (int64_t j = 0; j < last - first; j += kColumns) {
        double sums[kRows * kColumns];
        dot_block(left.values.data() + i * left.stride, right.values.data() + j * right.stride, left.stride, sums);
        for (int64_t y = i; y < std::min(i + kRows, rows.end - rows.begin); ++y) {
          for (int64_t x = j; x < std::min(j + kColumns, last - first); ++x) {
            const auto at = static_cast<size_t>((rows.begin + y) * shape.n + first + x);
            out.values[at] = sums[(y - i) * kColumns + (x - j)] + bias_of(shape, tensors, first + x);
            out.scales[at] = left.norms[static_cast<size_t>(y)] * right.norms[static_cast<size_t>(x)] / root_k;
          }
        }
      }
    }
  }
}

}  // namespace attune
