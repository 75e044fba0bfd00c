// SPDX-License-Identifier: MIT
// Behind sum_of_parts.cu: the second launch, of products whose elements are counted in 32 bits (gemm_space.cpp:
// part_sums).
extern "C" __global__ void __launch_bounds__(256) attune_sum_parts(KernelArguments product) {
  const unsigned size = static_cast<unsigned>(product.m) * static_cast<unsigned>(product.n);
  ATTUNE_ROLL
  for (unsigned at = blockIdx.x * blockDim.x + threadIdx.x; at < size; at += gridDim.x * blockDim.x) {
    const unsigned row = at / static_cast<unsigned>(product.n);
    const int column = static_cast<int>(at - row * static_cast<unsigned>(product.n));
    store(product, static_cast<int>(row), column, sum_of_parts(product, static_cast<int>(row), column));
  }
}
