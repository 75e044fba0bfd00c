// SPDX-License-Identifier: MIT
// Tiles of kBlockM × kBlockN in the tensor cores, whose operands pass through kStages buffers of shared memory, kBlockK
// elements deep. kWarpsM × kWarpsN warps share a tile. Before it stands tile_copies.cu or tile_moves.cu with
// multiply_all().
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
  return row * kRowBytes + (vector ^ (kRowVectors >= 8 ? row & 7 : row >> 1 & 3)) * 16;
}

struct Tile {
  int first_row, first_column, end;
};

// The first vector that a thread moves from an operand into a stage.
struct Move {
  int row, vector;
};
static __device__ Move move_of_thread() {
  return {static_cast<int>(threadIdx.x / kRowVectors), static_cast<int>(threadIdx.x % kRowVectors)};
}

// Where a thread reads its operands in the first stage: addresses of load_matrices().
struct Reads {
  unsigned a, b;
};
static __device__ Reads reads_of_thread() {
  const int lane = lane_of_thread(), warp = warp_of_thread();
  const int row = warp / kWarpsN * kWarpRows + lane % 16;
  const int column = warp % kWarpsN * kWarpColumns + lane % 8 + lane / 16 * 8;
  const unsigned first = shared_address(shared_memory());
  return {first + static_cast<unsigned>(place(row, lane / 16)),
          first + static_cast<unsigned>(kBlockM * kRowBytes + place(column, lane / 8 % 2))};
}

// Multiplies a stage that begins `stage` bytes behind the first.
static __device__ void multiply(const Reads& reads, unsigned stage, float (&sums)[kRowTiles][kColumnTiles][4]) {
  ATTUNE_UNROLL
  for (int step = 0; step < kBlockK / 16; ++step) {
    // Two vectors further in the row; the place of the first in the pair is kept. Stages begin at multiples of a row.
    const unsigned a_at = (reads.a + stage) ^ step * 32u, b_at = (reads.b + stage) ^ step * 32u;
    unsigned a[kRowTiles][4], b[kColumnTiles / 2][4];
    ATTUNE_UNROLL
    for (int r = 0; r < kRowTiles; ++r) load_matrices(a[r], a_at + r * 16 * kRowBytes);
    ATTUNE_UNROLL
    for (int c = 0; c < kColumnTiles / 2; ++c) load_matrices(b[c], b_at + c * 16 * kRowBytes);
    ATTUNE_UNROLL
    for (int r = 0; r < kRowTiles; ++r) {
      ATTUNE_UNROLL
      for (int c = 0; c < kColumnTiles; ++c)
        multiply_add<kIn>(sums[r][c], a[r], b[c / 2][c % 2 * 2], b[c / 2][c % 2 * 2 + 1]);
    }
  }
}

// The stage behind another, in bytes.
static __device__ unsigned next_stage(unsigned stage) {
  return stage == (kStages - 1) * kStageBytes ? 0 : stage + kStageBytes;
}

static __device__ int num_steps(const Tile& tile, int begin) {
  return divided(tile.end - begin + kBlockK - 1, kBlockK);
}
