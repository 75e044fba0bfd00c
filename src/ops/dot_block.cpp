// SPDX-License-Identifier: MIT
#include "ops/dot_block.h"

namespace attune {

// Lanes are explicit so that the compiler keeps the sums in vector registers; target clones let one binary use the
// machine's widest vectors.
#ifndef __SANITIZE_THREAD__  // Its runtime is not initialised when the clones are selected.
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
__attribute__((optimize("O3"))) void
dot_block(const float* a, const float* b, int64_t stride, int64_t count, double* sums) {
  typedef double Lanes __attribute__((vector_size(kDotLanes * sizeof(double))));
  typedef float Floats __attribute__((vector_size(kDotLanes * sizeof(float))));
  Lanes total[kDotRows][kDotRows] = {};
  for (int64_t k = 0; k < count; k += kDotLanes) {
    Lanes right[kDotRows];
    for (int j = 0; j < kDotRows; ++j) {
      Floats raw;
      __builtin_memcpy(&raw, b + j * stride + k, sizeof raw);
      right[j] = __builtin_convertvector(raw, Lanes);
    }
    for (int i = 0; i < kDotRows; ++i) {
      Floats raw;
      __builtin_memcpy(&raw, a + i * stride + k, sizeof raw);
      const Lanes left = __builtin_convertvector(raw, Lanes);
      for (int j = 0; j < kDotRows; ++j) total[i][j] += left * right[j];
    }
  }
  for (int i = 0; i < kDotRows; ++i) {
    for (int j = 0; j < kDotRows; ++j) {
      double sum = 0;
      for (int lane = 0; lane < kDotLanes; ++lane) sum += total[i][j][lane];
      sums[i * kDotRows + j] = sum;
    }
  }
}

}  // namespace attune
