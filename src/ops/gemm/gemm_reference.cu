// SPDX-License-Identifier: MIT
// The reference of products on a device. Each block computes a tile of the output in double; the operands become double
// when they are loaded.
#include "ops/gemm/gemm_reference_kernel.h"
#include "tensor/kernel_element.cuh"

namespace attune {
namespace {

constexpr int kTile = kReferenceTile, kDepth = 16, kPad = 2;
constexpr int kSide = 16, kEach = kTile / kSide;  // threads along a side of the tile, elements along a side of a thread

__device__ double activated(Activation act, double x) {
  switch (act) {
    case Activation::relu:
      return fmax(x, 0.0);
    case Activation::gelu:
      return x * normcdf(x);
    case Activation::gelu_tanh:
      return x / (1 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)));  // 2·√(2/π)
    case Activation::silu:
      return x / (1 + exp(-x));
    default:
      return x;
  }
}

__device__ double value_of(Factor factor, const void* operand) {
  if (factor == Factor::any) return *static_cast<const float*>(operand);
  return factor == Factor::one ? 1 : 0;
}

/// See Finish in gemm_reference.cpp, which is the host's.
__device__ void finish(const GemmReferenceProblem& problem, const KernelInputs& inputs, double sum, double scale,
                       int64_t row, int64_t column, double* values, double* scales) {
  const GemmShape& shape = problem.shape;
  const GemmOperands& where = problem.where;
  const GemmEpilogue& epilogue = shape.epilogue;
  const int64_t at = row * shape.n + column;
  const double bias = shape.bias ? element(shape.in, inputs.data[where.bias], column) : 0;
  const double alpha = value_of(epilogue.alpha, inputs.data[where.alpha]);
  const double product = epilogue.alpha == Factor::zero ? 0 : alpha * sum;
  double added = 0;
  if (epilogue.beta != Factor::zero)
    added = value_of(epilogue.beta, inputs.data[where.beta]) * element(shape.out, inputs.data[where.residual], at);
  const double out_scale = epilogue.out_scale ? *static_cast<const float*>(inputs.data[where.out_scale]) : 1;
  const double before = product + bias + added;
  if (!is_activation_defined(epilogue.act, before)) {
    values[at] = before;
    scales[at] = -1;
    return;
  }
  values[at] = out_scale * activated(epilogue.act, before);
  const double rounding = 2 * (fabs(product) + fabs(bias) + fabs(added)) / sqrt(static_cast<double>(shape.k));
  scales[at] = problem.slope == 0 ? scale : fabs(out_scale) * problem.slope * (fabs(alpha) * scale + rounding);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kReferenceThreads)
    attune_gemm_reference(KernelInputs inputs, double* values, double* scales, GemmReferenceProblem problem) {
  __shared__ double left[kDepth][kTile + kPad], right[kDepth][kTile + kPad], norms[2 * kTile];
  const GemmShape& shape = problem.shape;
  const int64_t across = (shape.n + kTile - 1) / kTile;
  const int64_t first_row = blockIdx.x / across * kTile, first_column = blockIdx.x % across * kTile;
  const int thread = threadIdx.x, x = thread % kSide, y = thread / kSide;
  const void* const a = inputs.data[problem.where.a];
  const void* const b = inputs.data[problem.where.b];
  double sums[kEach][kEach] = {}, norm = 0;
  const int64_t depth = shape.epilogue.alpha == Factor::zero ? 0 : shape.k;
  for (int64_t begin = 0; begin < depth; begin += kDepth) {
    for (int i = thread; i < kTile * kDepth; i += kReferenceThreads) {
      // Neighbouring threads take neighbouring elements in memory, along K or along M or N.
      const int k_a = shape.trans_a ? i / kTile : i % kDepth, row = shape.trans_a ? i % kTile : i / kDepth;
      const int k_b = shape.b_is_kn ? i / kTile : i % kDepth, column = shape.b_is_kn ? i % kTile : i / kDepth;
      const int64_t m = first_row + row, n = first_column + column, ka = begin + k_a, kb = begin + k_b;
      left[k_a][row] =
          m < shape.m && ka < depth ? element(shape.in, a, shape.trans_a ? ka * shape.m + m : m * shape.k + ka) : 0;
      right[k_b][column] =
          n < shape.n && kb < depth ? element(shape.in, b, shape.b_is_kn ? kb * shape.n + n : n * shape.k + kb) : 0;
    }
    __syncthreads();
    for (int k = 0; k < kDepth; ++k) {
      double one[kEach], other[kEach];
      for (int i = 0; i < kEach; ++i) one[i] = left[k][y + kSide * i];
      for (int j = 0; j < kEach; ++j) other[j] = right[k][x + kSide * j];
      for (int i = 0; i < kEach; ++i) {
        for (int j = 0; j < kEach; ++j) sums[i][j] += one[i] * other[j];
      }
      if (thread < 2 * kTile) {
        const double value = thread < kTile ? left[k][thread] : right[k][thread - kTile];
        norm += value * value;
      }
    }
    __syncthreads();
  }
  if (thread < 2 * kTile) norms[thread] = sqrt(norm);
  __syncthreads();
  for (int i = 0; i < kEach; ++i) {
    for (int j = 0; j < kEach; ++j) {
      const int row = y + kSide * i, column = x + kSide * j;
      if (first_row + row >= shape.m || first_column + column >= shape.n) continue;
      const double scale = norms[row] * norms[kTile + column] / sqrt(static_cast<double>(shape.k));
      finish(problem, inputs, sums[i][j], scale, first_row + row, first_column + column, values, scales);
    }
  }
}

}  // namespace attune
