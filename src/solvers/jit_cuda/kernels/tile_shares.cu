// SPDX-License-Identifier: MIT
// Behind tile_results.cu and last_block.cu, stream-K: the steps of k of all tiles, tile after tile, are divided among
// the launch's blocks equally, to within one step. A block leaves the sums of a part of a tile in the workspace; who
// comes last to a tile adds its parts in the order of k. So nobody waits for another block, and the result does not
// depend on who is last. Steps are counted in 32 bits (gemm_space.cpp: steps).
struct Work {
  int of_tile;        // Steps of a tile.
  int share, longer;  // Steps of a block; the first `longer` blocks have one more.
};

static __device__ Work work_of(const KernelArguments& product) {
  const int of_tile = divided(product.k + kBlockK - 1, kBlockK), blocks = static_cast<int>(gridDim.x);
  const int all = num_tiles(product) * of_tile, share = divided(all, blocks);
  return {of_tile, share, all - share * blocks};
}

static __device__ int first_step(const Work& work, int block) {
  return block * work.share + (block < work.longer ? block : work.longer);
}

static __device__ int block_of(const Work& work, int step) {
  const int of_longer = work.longer * (work.share + 1);
  return step < of_longer ? divided(step, work.share + 1) : work.longer + divided(step - of_longer, work.share);
}

// The sums of a block's part of a tile, a vector for each product of the tensor cores that a thread makes. A block has
// parts of two tiles at most: the one in which its share begins, and the one in which it ends.
static __device__ float4* sums_of_part(const KernelArguments& product, const Work& work, int block, int tile) {
  const int slot = 2 * block + (first_step(work, block) >= tile * work.of_tile ? 0 : 1);
  return reinterpret_cast<float4*>(product.sums) + static_cast<long long>(slot) * (kBlockM * kBlockN / 4) + threadIdx.x;
}

// Leaves a part's sums in the workspace.
static __device__ void keep(const float (&sums)[kRowTiles][kColumnTiles][4], float4* part) {
  ATTUNE_UNROLL
  for (int r = 0; r < kRowTiles; ++r) {
    ATTUNE_UNROLL
    for (int c = 0; c < kColumnTiles; ++c) {
      const float(&from)[4] = sums[r][c];
      __stcg(part + (r * kColumnTiles + c) * kThreads, float4{from[0], from[1], from[2], from[3]});
    }
  }
}

// Some vectors of all parts at a time: all of them would not fit into registers.
static __device__ void lay_sums_of_parts(const KernelArguments& product, const Work& work, int tile, int first,
                                         int last) {
  constexpr int kVectors = kRowTiles * kColumnTiles, kAhead = kVectors < 8 ? kVectors : 8;
  ATTUNE_ROLL
  for (int begin = 0; begin < kVectors; begin += kAhead) {
    float sums[kAhead][4] = {};
    ATTUNE_ROLL
    for (int block = first; block <= last; ++block) {
      const float4* const part = sums_of_part(product, work, block, tile) + begin * kThreads;
      float4 more[kAhead];
      ATTUNE_UNROLL
      for (int i = 0; i < kAhead; ++i) more[i] = __ldcg(part + i * kThreads);
      ATTUNE_UNROLL
      for (int i = 0; i < kAhead; ++i) {
        sums[i][0] += more[i].x;
        sums[i][1] += more[i].y;
        sums[i][2] += more[i].z;
        sums[i][3] += more[i].w;
      }
    }
    ATTUNE_UNROLL
    for (int i = 0; i < kAhead; ++i)
      lay(first_of_thread(), (begin + i) / kColumnTiles, (begin + i) % kColumnTiles, sums[i]);
  }
}

// Keeps a part of a tile. Whether this block is the tile's last, which has laid the sums of all then.
static __device__ bool lay_as_last(const KernelArguments& product, const Work& work, int number,
                                   const float (&sums)[kRowTiles][kColumnTiles][4]) {
  keep(sums, sums_of_part(product, work, static_cast<int>(blockIdx.x), number));
  const int begin = number * work.of_tile;
  const int first = block_of(work, begin), last = block_of(work, begin + work.of_tile - 1);
  if (!is_last(product, number, last - first + 1, reinterpret_cast<unsigned*>(shared_memory()))) return false;
  __syncthreads();
  lay_sums_of_parts(product, work, number, first, last);
  return true;
}

extern "C" __global__ void __launch_bounds__(kThreads) attune_product(KernelArguments product) {
  const Work work = work_of(product);
  const int end = first_step(work, static_cast<int>(blockIdx.x) + 1);
  for (int at = first_step(work, static_cast<int>(blockIdx.x)); at < end;) {
    const int number = divided(at, work.of_tile), first = at - number * work.of_tile;
    const int left = work.of_tile - first, count = end - at < left ? end - at : left;
    const Tile tile = tile_of(product, number, (first + count) * kBlockK);
    float sums[kRowTiles][kColumnTiles][4] = {};
    multiply_all(product, tile, first * kBlockK, sums);
    bool is_laid = count == work.of_tile;
    if (is_laid) {
      __syncthreads();
      lay_all(sums);
    } else {
      is_laid = lay_as_last(product, work, number, sums);
    }
    if (is_laid) put_laid_tile(product, tile, 0);
    // The next tile's first stage lies where the tile and the flag were.
    __syncthreads();
    at += count;
  }
}
