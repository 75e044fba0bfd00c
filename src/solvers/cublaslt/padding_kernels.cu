// SPDX-License-Identifier: MIT
#include "solvers/cublaslt/padding_kernels.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace attune {
namespace {

constexpr int kWarp = 32, kTailWarps = kTailThreads / kWarp, kTailColumns = 8;

/// Two neighbouring vectors without their first `shift` units (0 … 7).
__device__ uint4 shifted(const uint4& low, const uint4& high, uint32_t shift) {
  uint32_t words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  if (shift & 4) {
    for (int i = 0; i < 6; ++i) words[i] = words[i + 2];
  }
  if (shift & 2) {
    for (int i = 0; i < 5; ++i) words[i] = words[i + 1];
  }
  const uint32_t bits = 16 * (shift & 1);
  return {__funnelshift_r(words[0], words[1], bits), __funnelshift_r(words[1], words[2], bits),
          __funnelshift_r(words[2], words[3], bits), __funnelshift_r(words[3], words[4], bits)};
}

__device__ float value_of(DType dtype, const void* data, int64_t index) {
  return dtype == DType::bf16 ? __bfloat162float(static_cast<const __nv_bfloat16*>(data)[index])
                              : __half2float(static_cast<const __half*>(data)[index]);
}

__device__ void store(DType dtype, void* data, int64_t index, float value) {
  switch (dtype) {
    case DType::bf16:
      static_cast<__nv_bfloat16*>(data)[index] = __float2bfloat16(value);
      break;
    case DType::fp16:
      static_cast<__half*>(data)[index] = __float2half(value);
      break;
    default:
      static_cast<float*>(data)[index] = value;
  }
}

__device__ float activated(Activation act, float x) {
  switch (act) {
    case Activation::relu:
      return x < 0 ? 0 : x;
    case Activation::gelu_tanh:
      return x / (1 + expf(-1.5957691216f * (x + 0.044715f * x * x * x)));  // 2·√(2/π)
    default:
      return x;
  }
}

/// sums (16×8) += a (16×16) · b (16×8). Lane 4·i + j has row i (registers 0, 1) and row i + 8 of the sums, columns 2j
/// and 2j + 1 (PTX, mma.m16n8k16).
__device__ void multiply_add(bool is_bf16, float (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  if (is_bf16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}

/// Eight elements of a row; zeros beyond the matrix.
__device__ uint4 vector_of(const void* matrix, int64_t row, int64_t num_rows, int64_t column, int64_t num_columns) {
  if (row >= num_rows || column >= num_columns) return {0, 0, 0, 0};
  return *reinterpret_cast<const uint4*>(static_cast<const uint16_t*>(matrix) + row * num_columns + column);
}

}  // namespace

/// Each thread writes aligned vectors. It reads the two aligned vectors of the source that contain one, or single units
/// at the end of a row and of the source.
extern "C" __global__ void __launch_bounds__(kCopyThreads) attune_copy_rows(RowCopy copy) {
  const auto* const from = static_cast<const uint16_t*>(copy.from);
  auto* const to = static_cast<uint16_t*>(copy.to);
  const uint32_t from_units = copy.from_length * copy.from_rows, to_units = copy.to_length * copy.to_rows;
  const uint32_t stride = gridDim.x * blockDim.x * kUnitsPerThread;
  for (uint32_t at = (blockIdx.x * blockDim.x + threadIdx.x) * kUnitsPerThread; at < to_units; at += stride) {
    uint32_t row = at / copy.to_length, column = at - row * copy.to_length;
    const uint32_t begin = row * copy.from_length + column, shift = begin % kUnitsPerThread;
    const uint32_t end = begin - shift + (shift == 0 ? 1 : 2) * kUnitsPerThread;
    if (row < copy.from_rows && column + kUnitsPerThread <= copy.copied_length && end <= from_units) {
      const auto* const vectors = reinterpret_cast<const uint4*>(from + (begin - shift));
      const uint4 low = vectors[0];
      *reinterpret_cast<uint4*>(to + at) = shift == 0 ? low : shifted(low, vectors[1], shift);
      continue;
    }
    for (uint32_t i = 0; i < kUnitsPerThread && at + i < to_units; ++i) {
      to[at + i] = row < copy.from_rows && column < copy.copied_length ? from[row * copy.from_length + column] : 0;
      if (++column == copy.to_length) {
        column = 0;
        ++row;
      }
    }
  }
}

/// A lane loads 8 elements of two rows of A and of one of B, of which two products of 16 are made: the order of K's
/// elements is the same in both, and no other than that of memory is needed.
extern "C" __global__ void __launch_bounds__(kTailThreads) attune_tail_columns(TailColumns tail) {
  __shared__ float parts[kTailWarps][kTailRows][kTailColumns];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, group = lane / 4, of_group = lane % 4;
  const int64_t first_row = int64_t{blockIdx.x} * kTailRows;
  float sums[4] = {};
  for (int64_t k = int64_t{warp} * kWarp; k < tail.k; k += kTailThreads) {
    const int64_t at = k + of_group * 8;
    const uint4 upper = vector_of(tail.a, first_row + group, tail.m, at, tail.k);
    const uint4 lower = vector_of(tail.a, first_row + group + 8, tail.m, at, tail.k);
    const uint4 weights = vector_of(tail.b, tail.first_column + group, tail.n, at, tail.k);
    multiply_add(tail.in == DType::bf16, sums, {upper.x, lower.x, upper.y, lower.y}, {weights.x, weights.y});
    multiply_add(tail.in == DType::bf16, sums, {upper.z, lower.z, upper.w, lower.w}, {weights.z, weights.w});
  }
  for (int i = 0; i < 4; ++i) parts[warp][group + i / 2 * 8][of_group * 2 + i % 2] = sums[i];
  __syncthreads();
  const int row = threadIdx.x / kTailColumns, column = threadIdx.x % kTailColumns;
  const int64_t m = first_row + row, n = tail.first_column + column;
  if (row >= kTailRows || m >= tail.m || n >= tail.n) return;
  float sum = 0;
  for (int i = 0; i < kTailWarps; ++i) sum += parts[i][row][column];
  if (tail.bias != nullptr) sum += value_of(tail.in, tail.bias, n);
  store(tail.out, tail.c, m * tail.n + n, activated(tail.act, sum));
}

}  // namespace attune
