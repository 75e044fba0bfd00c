// SPDX-License-Identifier: MIT
// Tiles of kBlockM × kBlockN in the tensor cores, whose operands pass through kStages buffers of shared memory, kBlockK
// elements deep. kWarpsM × kWarpsN warps share a tile.
constexpr int kThreads = kWarp * kWarpsM * kWarpsN;
constexpr int kWarpRows = kBlockM / kWarpsM, kWarpColumns = kBlockN / kWarpsN;
constexpr int kRowTiles = kWarpRows / 16, kColumnTiles = kWarpColumns / 8;
constexpr int kRowVectors = kBlockK / kVector, kRowBytes = kBlockK * kElementBytes;  // Of a row of a stage.
constexpr int kStageBytes = (kBlockM + kBlockN) * kRowBytes;                         // Rows of A, then of B.
constexpr int kRowStep = kThreads / kRowVectors;  // Rows between two vectors that a thread moves; a multiple of 8.
constexpr int kMovesA = (kBlockM + kRowStep - 1) / kRowStep, kMovesB = (kBlockN + kRowStep - 1) / kRowStep;

// Byte of a vector in a stage. Vectors of a row change places, so that the eight rows which are read at once lie in
// different banks. Rows that are a multiple of 8 apart change them alike.
static __device__ int place(int row, int vector) {
  return row * kRowBytes + (vector ^ (kRowVectors >= 8 ? row % 8 : row / 2 % 4)) * 16;
}

struct Tile {
  int first_row, first_column, end;
};

// The first vector that a thread moves from an operand into a stage.
struct Move {
  int row, vector;
};
static __device__ Move move_of_thread() {
  return {static_cast<int>(threadIdx.x) / kRowVectors, static_cast<int>(threadIdx.x) % kRowVectors};
}

template <bool kIsB, int kMoves, int kRows>
static __device__ void begin_fill(const void* matrix, int first_row, int num_rows, int length, int k0, int end,
                                  unsigned char* stage) {
  const Move move = move_of_thread();
  const int k = k0 + move.vector * kVector, row = first_row + move.row;
  const long long first = kIsB ? place_in_b(row, length, k) : static_cast<long long>(row) * length + k;
  const char* const from = static_cast<const char*>(matrix) + first * kElementBytes;
  unsigned char* const to = stage + place(move.row, move.vector);
  ATTUNE_UNROLL
  for (int i = 0; i < kMoves; ++i) {
    if (kRows % kRowStep != 0 && move.row + i * kRowStep >= kRows) break;
    // Packed, a stage is whole: k is padded to the longest.
    const bool is_there = ((kIsB && kIsPacked) || k < end) && row + i * kRowStep < num_rows;
    const long long at = static_cast<long long>(i) * kRowStep * length * kElementBytes;
    copy_later(to + i * kRowStep * kRowBytes, is_there ? from + at : matrix, is_there ? 16 : 0);
  }
}

static __device__ void begin_fill(const KernelArguments& product, const Tile& tile, int stage, int k0) {
  unsigned char* const to = shared_memory() + stage * kStageBytes;
  begin_fill<false, kMovesA, kBlockM>(product.a, tile.first_row, product.m, product.k, k0, tile.end, to);
  begin_fill<true, kMovesB, kBlockN>(product.b, tile.first_column, product.n, length_of_b(product.k), k0, tile.end,
                                     to + kBlockM * kRowBytes);
}

// Rows that begin anywhere pass through registers.
struct Moved {
  Vector a[kMovesA], b[kMovesB];
};
static __device__ void load(const KernelArguments& product, const Tile& tile, int k0, Moved& moved) {
  const Move move = move_of_thread();
  const int k = k0 + move.vector * kVector;
  ATTUNE_UNROLL
  for (int i = 0; i < kMovesA; ++i)
    moved.a[i] = vector_at<false>(product.a, within(tile.first_row + move.row + i * kRowStep, product.m), product.k, k,
                                  tile.end);
  ATTUNE_UNROLL
  for (int i = 0; i < kMovesB; ++i)
    moved.b[i] =
        vector_of_b<false>(product, within(tile.first_column + move.row + i * kRowStep, product.n), k, tile.end);
}
template <int kMoves, int kRows>
static __device__ void write(const Vector (&vectors)[kMoves], unsigned char* stage) {
  const Move move = move_of_thread();
  ATTUNE_UNROLL
  for (int i = 0; i < kMoves; ++i) {
    if (kRows % kRowStep != 0 && move.row + i * kRowStep >= kRows) break;
    *reinterpret_cast<Vector*>(stage + place(move.row, move.vector) + i * kRowStep * kRowBytes) = vectors[i];
  }
}
static __device__ void write(int stage, const Moved& moved) {
  unsigned char* const to = shared_memory() + stage * kStageBytes;
  write<kMovesA, kBlockM>(moved.a, to);
  write<kMovesB, kBlockN>(moved.b, to + kBlockM * kRowBytes);
}

static __device__ void multiply(int stage, float (&sums)[kRowTiles][kColumnTiles][4]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int row = warp / kWarpsN * kWarpRows + lane % 16;
  const int column = warp % kWarpsN * kWarpColumns + lane % 8 + lane / 16 * 8;
  const unsigned char* const of_a = shared_memory() + stage * kStageBytes;
  const unsigned char* const of_b = of_a + kBlockM * kRowBytes;
  const int a_at = place(row, lane / 16), b_at = place(column, lane / 8 % 2);
  ATTUNE_UNROLL
  for (int step = 0; step < kBlockK / 16; ++step) {
    // Two vectors further in the row; the place of the first in the pair is kept.
    const int a_place = a_at ^ step * 32, b_place = b_at ^ step * 32;
    unsigned a[kRowTiles][4], b[kColumnTiles / 2][4];
    ATTUNE_UNROLL
    for (int r = 0; r < kRowTiles; ++r) load_matrices(a[r], of_a + a_place + r * 16 * kRowBytes);
    ATTUNE_UNROLL
    for (int c = 0; c < kColumnTiles / 2; ++c) load_matrices(b[c], of_b + b_place + c * 16 * kRowBytes);
    ATTUNE_UNROLL
    for (int r = 0; r < kRowTiles; ++r) {
      ATTUNE_UNROLL
      for (int c = 0; c < kColumnTiles; ++c)
        multiply_add<kIn>(sums[r][c], a[r], b[c / 2][c % 2 * 2], b[c / 2][c % 2 * 2 + 1]);
    }
  }
}

// While a stage is multiplied, the next ones are filled.
static __device__ void multiply_all(const KernelArguments& product, const Tile& tile, int begin,
                                    float (&sums)[kRowTiles][kColumnTiles][4]) {
  const int num_steps = (tile.end - begin + kBlockK - 1) / kBlockK;
  if constexpr (kIsShifted) {
    Moved moved;
    load(product, tile, begin, moved);
    write(0, moved);
    for (int step = 0; step < num_steps; ++step) {
      __syncthreads();
      load(product, tile, begin + (step + 1) * kBlockK, moved);
      multiply(step % kStages, sums);
      write((step + 1) % kStages, moved);
    }
  } else {
    ATTUNE_UNROLL
    for (int stage = 0; stage < kStages - 1; ++stage) {
      if (stage < num_steps) begin_fill(product, tile, stage, begin + stage * kBlockK);
      end_copy_group();
    }
    for (int step = 0; step < num_steps; ++step) {
      copies_done<kStages - 2>();
      __syncthreads();
      const int next = step + kStages - 1;
      if (next < num_steps) begin_fill(product, tile, next % kStages, begin + next * kBlockK);
      end_copy_group();
      multiply(step % kStages, sums);
    }
    copies_done<0>();
  }
}

// The tile lies in shared memory as it does in C, so that neighbouring threads store neighbouring elements. Rows are
// longer, so that eight of them lie in different banks.
constexpr int kTileRow = kBlockN + 8;
static __device__ float* tile_element(int row, int column) {
  return reinterpret_cast<float*>(shared_memory()) + row * kTileRow + column;
}

// What a product of the tensor cores leaves in a thread becomes part of that tile. `number`: row tile · kColumnTiles +
// column tile.
static __device__ void lay(int number, const float (&sums)[4]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  float* const upper = tile_element(warp / kWarpsN * kWarpRows + number / kColumnTiles * 16 + lane / 4,
                                    warp % kWarpsN * kWarpColumns + number % kColumnTiles * 8 + lane % 4 * 2);
  *reinterpret_cast<float2*>(upper) = {sums[0], sums[1]};
  *reinterpret_cast<float2*>(upper + 8 * kTileRow) = {sums[2], sums[3]};
}

static __device__ void put_laid_tile(const KernelArguments& product, const Tile& tile, int part) {
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kBlockM * kBlockN / 2; i += kThreads) {
    const int in_row = i / (kBlockN / 2), in_column = i % (kBlockN / 2) * 2;
    const int row = tile.first_row + in_row, column = tile.first_column + in_column;
    if (row >= product.m || column >= product.n) continue;
    const float2 pair = *reinterpret_cast<const float2*>(tile_element(in_row, in_column));
    put_pair(product, part, row, column, pair);
  }
}

static __device__ void put_tile(const KernelArguments& product, const Tile& tile, int part,
                                const float (&sums)[kRowTiles][kColumnTiles][4]) {
  __syncthreads();
  ATTUNE_UNROLL
  for (int r = 0; r < kRowTiles; ++r) {
    ATTUNE_UNROLL
    for (int c = 0; c < kColumnTiles; ++c) lay(r * kColumnTiles + c, sums[r][c]);
  }
  put_laid_tile(product, tile, part);
}

// Tiles are numbered so that product.group rows of them are computed together.
static __device__ Tile tile_of(const KernelArguments& product, int number, int end) {
  const int row_tiles = (product.m + kBlockM - 1) / kBlockM, column_tiles = (product.n + kBlockN - 1) / kBlockN;
  const int first_of_group = number / (product.group * column_tiles) * product.group;
  const int group_rows = row_tiles - first_of_group < product.group ? row_tiles - first_of_group : product.group;
  const int in_group = number - first_of_group * column_tiles;
  return {(first_of_group + in_group % group_rows) * kBlockM, in_group / group_rows * kBlockN,
          product.k < end ? product.k : end};
}

static __device__ int num_tiles(const KernelArguments& product) {
  return (product.m + kBlockM - 1) / kBlockM * ((product.n + kBlockN - 1) / kBlockN);
}
