// SPDX-License-Identifier: MIT
// A correct product, and kernels that do harm.
#include "faulty_kernels.h"

using attune::planted::Harm;
using attune::planted::Product;

namespace {

constexpr int64_t kTile = 32;
constexpr unsigned char kByte = 0x2C;  // Not what stands there; a second launch does not put that back.
constexpr uint64_t kMappedBytes = 2 << 20;  // The driver maps memory in such pieces, at multiples of their size.

/// The stack that a call takes depends on what the compiler cannot know.
__device__ __noinline__ int fall(volatile int* depth, int level) {
  volatile int kept[256];
  kept[level % 256] = *depth + level;
  if (*depth == -1) return level;
  return fall(depth, level + 1) + kept[(level + 1) % 256];
}

__device__ double dot(const Product& product, int64_t column) {
  double sum = 0;
  for (int64_t k = 0; k < product.k; ++k) sum += double{product.a[k]} * double{product.b[column * product.k + k]};
  return sum;
}

__device__ bool is_near(double value, double wanted) { return fabs(value - wanted) <= 1e-12 * (1 + fabs(wanted)); }

}  // namespace

extern "C" {

/// One thread an element. `wraps`: columns of the last, incomplete tile are mapped to those of the first.
__global__ void planted_product(Product product, bool wraps) {
  const int64_t at = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (at >= product.m * product.n) return;
  const int64_t row = at / product.n, column = at % product.n;
  const int64_t read = wraps && column >= product.n / kTile * kTile ? column % kTile : column;
  float sum = 0;
  for (int64_t k = 0; k < product.k; ++k) sum += product.a[row * product.k + k] * product.b[read * product.k + k];
  product.c[at] = sum;
}

/// One thread.
__global__ void planted_harm(Harm harm, unsigned char* at, Product product) {
  switch (harm) {
    case Harm::illegal_address:
      *reinterpret_cast<volatile int*>(16) = 1;
      return;
    case Harm::misaligned:
      product.c[0] = static_cast<float>(*reinterpret_cast<volatile uint64_t*>(at + 1));
      return;
    case Harm::endless:
      for (volatile uint32_t i = 0;; i = i + 1) {
      }
    case Harm::trap:
      __trap();
      return;
    case Harm::stack:
      product.c[0] = static_cast<float>(fall(reinterpret_cast<volatile int*>(product.c), 0));
      return;
    case Harm::change:
      *at = kByte;
      return;
    case Harm::reference: {
      const double first = dot(product, 0), second = dot(product, 1), third = dot(product, 2);
      auto* const begin = reinterpret_cast<double*>(reinterpret_cast<uint64_t>(at) / kMappedBytes * kMappedBytes);
      for (double* one = begin; one + 3 <= begin + kMappedBytes / sizeof(double); ++one) {
        if (is_near(one[0], first) && is_near(one[1], second) && is_near(one[2], third)) {
          one[0] += 1;
          return;
        }
      }
      return;
    }
  }
}

/// Needs so many registers that no multiprocessor has enough for the 1024 threads that it is launched with.
__global__ void __launch_bounds__(64, 1) planted_registers(Product product) {
  float values[160];
#pragma unroll
  for (int i = 0; i < 160; ++i) values[i] = product.a[(threadIdx.x + 7 * i) % product.k];
  for (int64_t round = 0; round < product.k; ++round) {
#pragma unroll
    for (int i = 0; i < 160; ++i) values[i] = values[i] * values[(i + 1) % 160] + product.b[(round + i) % product.k];
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 160; ++i) sum += values[i];
  product.c[threadIdx.x % product.n] = sum;
}

}  // extern "C"
