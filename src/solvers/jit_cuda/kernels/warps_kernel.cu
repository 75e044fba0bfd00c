// SPDX-License-Identifier: MIT
// Few rows of A: each weight goes once from memory to registers. kRows rows of A, kColumns columns of C for each of
// kWarps warps side by side, k shared among kDepthWarps warps, kUnroll loads ahead. Before it stands dot_loop.cu or
// stream_loop.cu with multiply(), which leaves the sums of a warp in shared memory. ATTUNE_BOUNDS: kThreads and, where
// the compiler must be told how many, the blocks of a multiprocessor (kernel_registers.h).
extern "C" __global__ void __launch_bounds__(ATTUNE_BOUNDS) attune_product(KernelArguments product) {
  const int row_tiles = divided(product.m + kRows - 1, kRows);
  const int column_tiles = divided(product.n + kBlockColumns - 1, kBlockColumns);
  const int block = static_cast<int>(blockIdx.x);
  const int part = divided(block, row_tiles * column_tiles), tile = block - part * row_tiles * column_tiles;
  const int tile_column = divided(tile, row_tiles), tile_row = tile - tile_column * row_tiles;
  const int first_row = tile_row * kRows, first_column = tile_column * kBlockColumns;
  const int begin = part * product.part_length;
  const int end = product.k - begin < product.part_length ? product.k : begin + product.part_length;
  multiply(product, {first_row, first_column, begin, end});
  __syncthreads();
  constexpr int kSums = kRows * kBlockColumns;
  ATTUNE_ROLL
  for (int first = 0; first < kSums; first += kThreads) {
    const int i = first + static_cast<int>(threadIdx.x);
    const int row = divided(i, kBlockColumns), column = i - row * kBlockColumns;
    if (i >= kSums || first_row + row >= product.m || first_column + column >= product.n) continue;
    const float* const sums = sums_of_warp(0) + i;
    float sum = 0;
    ATTUNE_UNROLL
    for (int warp = 0; warp < kDepthWarps; ++warp) sum += sums[warp * kSums];
    put(product, part, first_row + row, first_column + column, sum);
  }
  add_parts(product, tile, first_row, kRows, first_column, kBlockColumns,
            reinterpret_cast<unsigned*>(sums_of_warp(kDepthWarps)));
}
