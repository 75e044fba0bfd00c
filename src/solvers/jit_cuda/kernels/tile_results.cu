// SPDX-License-Identifier: MIT
// Behind tile_copies.cu or tile_moves.cu: from the sums of the tensor cores to C. The tile lies in shared memory as it
// does in C, so that neighbouring threads store neighbouring elements. Rows are longer, so that eight of them lie in
// different banks.
constexpr int kTileRow = kBlockN + 8;
static __device__ float* tile_element(int row, int column) {
  return reinterpret_cast<float*>(shared_memory()) + row * kTileRow + column;
}

// Where this thread's first sum lies.
static __device__ float* first_of_thread() {
  const int lane = lane_of_thread(), warp = warp_of_thread();
  return tile_element(warp / kWarpsN * kWarpRows + lane / 4, warp % kWarpsN * kWarpColumns + lane % 4 * 2);
}

// What a product of the tensor cores leaves in a thread becomes part of that tile.
static __device__ void lay(float* first, int row_tile, int column_tile, const float (&sums)[4]) {
  float* const upper = first + row_tile * (16 * kTileRow) + column_tile * 8;
  *reinterpret_cast<float2*>(upper) = {sums[0], sums[1]};
  *reinterpret_cast<float2*>(upper + 8 * kTileRow) = {sums[2], sums[3]};
}

static __device__ void lay_all(const float (&sums)[kRowTiles][kColumnTiles][4]) {
  float* const first = first_of_thread();
  ATTUNE_UNROLL
  for (int r = 0; r < kRowTiles; ++r) {
    ATTUNE_UNROLL
    for (int c = 0; c < kColumnTiles; ++c) lay(first, r, c, sums[r][c]);
  }
}

static __device__ void put_laid_tile(const KernelArguments& product, const Tile& tile, int part) {
  __syncthreads();
  constexpr int kPairs = kBlockN / 2;
  ATTUNE_ROLL
  for (int i = static_cast<int>(threadIdx.x); i < kBlockM * kPairs; i += kThreads) {
    const int in_row = divided(i, kPairs), in_column = (i - in_row * kPairs) * 2;
    const int row = tile.first_row + in_row, column = tile.first_column + in_column;
    if (row >= product.m || column >= product.n) continue;
    put_pair(product, part, row, column, *reinterpret_cast<const float2*>(tile_element(in_row, in_column)));
  }
}

// Tiles are numbered so that product.group rows of them are computed together.
static __device__ Tile tile_of(const KernelArguments& product, int number, int end) {
  const int row_tiles = divided(product.m + kBlockM - 1, kBlockM);
  const int column_tiles = divided(product.n + kBlockN - 1, kBlockN);
  const int of_group = product.group * column_tiles, group = divided(number, of_group);
  const int left = row_tiles - group * product.group, group_rows = left < product.group ? left : product.group;
  const int in_group = number - group * of_group, column = divided(in_group, group_rows);
  return {(group * product.group + in_group - column * group_rows) * kBlockM, column * kBlockN,
          product.k < end ? product.k : end};
}

static __device__ int num_tiles(const KernelArguments& product) {
  return divided(product.m + kBlockM - 1, kBlockM) * divided(product.n + kBlockN - 1, kBlockN);
}
