// SPDX-License-Identifier: MIT
// compare() on a device.
#include "measure/comparison/comparison_kernel.h"
#include "tensor/kernel_element.cuh"

namespace attune {

/// Writes a part for each block. The order of all sums is fixed by the grid, so equal outputs give equal parts.
extern "C" __global__ void __launch_bounds__(kComparisonThreads)
    attune_compare(ComparisonInput input, ComparisonPart* parts) {
  __shared__ ComparisonPart of_threads[kComparisonThreads];
  ComparisonPart part{};
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < input.count; i += stride)
    add(part, input.bounds, i, element(input.dtype, input.got, i), input.values[i], input.scales[i]);
  of_threads[threadIdx.x] = part;
  __syncthreads();
  for (unsigned half = kComparisonThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) add(of_threads[threadIdx.x], of_threads[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) parts[blockIdx.x] = of_threads[0];
}

}  // namespace attune
