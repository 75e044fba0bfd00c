// SPDX-License-Identifier: MIT
// Whether this block is the last of a tile's `num_parts`, whose sums it may read then. `flag`: a word of shared memory.
// All threads of a block call it, behind the stores of their sums.
static __device__ bool is_last(const KernelArguments& product, int tile, int num_parts, unsigned* flag) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    *flag = atomicAdd(product.counters + tile, 1u) == static_cast<unsigned>(num_parts) - 1;
    if (*flag != 0) product.counters[tile] = 0;
  }
  __syncthreads();
  if (*flag == 0) return false;
  __threadfence();
  return true;
}
