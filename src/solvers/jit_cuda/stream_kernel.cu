// SPDX-License-Identifier: MIT
// Few rows of A: each weight goes once from memory to registers. kRows rows of A, kColumns columns of C for each of
// kWarps warps side by side, k shared among kDepthWarps warps, kUnroll loads ahead. kIsMatrix: products of the tensor
// cores (kRows 8 or 16, kColumns a multiple of 16), else fused multiply-adds.
constexpr int kBlockColumns = kWarps * kColumns;
constexpr int kThreads = kWarp * kWarps * kDepthWarps;

// The sums of a warp, in shared memory: kRows × kBlockColumns for each of kDepthWarps.
static __device__ float& partial(int depth_warp, int row, int column) {
  return reinterpret_cast<float*>(shared_memory())[(depth_warp * kRows + row) * kBlockColumns + column];
}

struct Tile {
  int first_row, first_column, begin, end;
};

struct Place {
  int lane, depth_warp, column;
};
static __device__ Place place_of_thread() {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  return {lane, warp / kWarps, warp % kWarps * kColumns};
}

// A lane takes a vector of each row, a warp 512 neighbouring bytes.
static __device__ void add_elements(const KernelArguments& product, const Tile& tile, const Place& place, int k0,
                                    float (&sums)[kRows][kColumns]) {
  constexpr int kStep = kWarp * kVector * kDepthWarps;
  Vector weights[kUnroll][kColumns];
  ATTUNE_UNROLL
  for (int u = 0; u < kUnroll; ++u) {
    ATTUNE_UNROLL
    for (int c = 0; c < kColumns; ++c)
      weights[u][c] =
          vector_of_b<true>(product, within(tile.first_column + place.column + c, product.n), k0 + u * kStep, tile.end);
  }
  ATTUNE_UNROLL
  for (int u = 0; u < kUnroll; ++u) {
    ATTUNE_UNROLL
    for (int r = 0; r < kRows; ++r) {
      float x[kVector];
      unpack(vector_at<false>(product.a, within(tile.first_row + r, product.m), product.k, k0 + u * kStep, tile.end),
             x);
      ATTUNE_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        float w[kVector];
        unpack(weights[u][c], w);
        ATTUNE_UNROLL
        for (int i = 0; i < kVector; ++i) sums[r][c] += x[i] * w[i];
      }
    }
  }
}

static __device__ void multiply_elements(const KernelArguments& product, const Tile& tile) {
  constexpr int kChunk = kWarp * kVector, kStep = kChunk * kDepthWarps;
  const Place place = place_of_thread();
  float sums[kRows][kColumns] = {};
  for (int chunk = tile.begin + place.depth_warp * kChunk; chunk < tile.end; chunk += kStep * kUnroll) {
    add_elements(product, tile, place, chunk + place.lane * kVector, sums);
  }
  ATTUNE_UNROLL
  for (int r = 0; r < kRows; ++r) {
    ATTUNE_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      const float sum = sum_of_lanes(sums[r][c]);
      if (place.lane == r * kColumns + c) partial(place.depth_warp, r, place.column + c) = sum;
    }
  }
}

// The weights are the left operand of a product of 16×16 by 16×8. A lane loads 8 neighbouring elements of two rows of B
// and of one of A, of which two products are made: the order of k's elements is the same in both operands, and no other
// than that of memory is needed.
constexpr int kTiles = kColumns / 16, kRowTiles = kRows / 8, kChunk = 32;

static __device__ void add_matrices(const KernelArguments& product, const Tile& tile, const Place& place, int k0,
                                    float (&sums)[kTiles + 1][kRowTiles + 1][4]) {
  const int group = place.lane / 4, of_group = place.lane % 4;
  Vector weights[kUnroll][kTiles + 1][2], x[kUnroll][kRowTiles + 1];
  ATTUNE_UNROLL
  for (int u = 0; u < kUnroll; ++u) {
    const int k = k0 + u * kChunk + of_group * 8;
    ATTUNE_UNROLL
    for (int t = 0; t < kTiles * 2; ++t)
      weights[u][t / 2][t % 2] =
          vector_of_b<true>(product, within(tile.first_column + place.column + t * 8 + group, product.n), k, tile.end);
    ATTUNE_UNROLL
    for (int r = 0; r < kRowTiles; ++r)
      x[u][r] = vector_at<false>(product.a, within(tile.first_row + r * 8 + group, product.m), product.k, k, tile.end);
  }
  ATTUNE_UNROLL
  for (int u = 0; u < kUnroll; ++u) {
    ATTUNE_UNROLL
    for (int t = 0; t < kTiles; ++t) {
      const unsigned(&upper)[4] = weights[u][t][0].words, (&lower)[4] = weights[u][t][1].words;
      ATTUNE_UNROLL
      for (int r = 0; r < kRowTiles; ++r) {
        multiply_add<kIn>(sums[t][r], {upper[0], lower[0], upper[1], lower[1]}, x[u][r].words[0], x[u][r].words[1]);
        multiply_add<kIn>(sums[t][r], {upper[2], lower[2], upper[3], lower[3]}, x[u][r].words[2], x[u][r].words[3]);
      }
    }
  }
}

static __device__ void multiply_matrices(const KernelArguments& product, const Tile& tile) {
  const Place place = place_of_thread();
  float sums[kTiles + 1][kRowTiles + 1][4] = {};
  for (int k0 = tile.begin + place.depth_warp * kChunk * kUnroll; k0 < tile.end; k0 += kDepthWarps * kChunk * kUnroll)
    add_matrices(product, tile, place, k0, sums);
  const int group = place.lane / 4, of_group = place.lane % 4;
  ATTUNE_UNROLL
  for (int t = 0; t < kTiles; ++t) {
    ATTUNE_UNROLL
    for (int r = 0; r < kRowTiles; ++r) {
      ATTUNE_UNROLL
      for (int i = 0; i < 4; ++i)
        partial(place.depth_warp, r * 8 + of_group * 2 + i % 2, place.column + t * 16 + group + i / 2 * 8) =
            sums[t][r][i];
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) attune_product(KernelArguments product) {
  const int row_tiles = (product.m + kRows - 1) / kRows;
  const int column_tiles = (product.n + kBlockColumns - 1) / kBlockColumns;
  const int part = static_cast<int>(blockIdx.x) / (row_tiles * column_tiles);
  const int tile = static_cast<int>(blockIdx.x) % (row_tiles * column_tiles);
  const int first_row = tile % row_tiles * kRows, first_column = tile / row_tiles * kBlockColumns;
  const int begin = part * product.part_length;
  const int end = product.k - begin < product.part_length ? product.k : begin + product.part_length;
  if constexpr (kIsMatrix)
    multiply_matrices(product, {first_row, first_column, begin, end});
  else
    multiply_elements(product, {first_row, first_column, begin, end});
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kBlockColumns; i += kThreads) {
    const int row = i / kBlockColumns, column = i % kBlockColumns;
    float sum = 0;
    ATTUNE_UNROLL
    for (int warp = 0; warp < kDepthWarps; ++warp) sum += partial(warp, row, column);
    if (first_row + row < product.m && first_column + column < product.n)
      put(product, part, first_row + row, first_column + column, sum);
  }
  add_parts(product, tile, first_row, kRows, first_column, kBlockColumns,
            reinterpret_cast<unsigned*>(&partial(kDepthWarps, 0, 0)));
}
