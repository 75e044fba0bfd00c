// SPDX-License-Identifier: MIT
// Behind tile_kernel.cu, where rows are multiples of 16 bytes: while a stage is multiplied, the next ones are filled.

// What a thread copies of an operand: rows that are `row_step` bytes apart; `num_rows` of the operand are left from the
// first on.
struct Copies {
  const char* from;
  long long row_step;
  int num_rows;
  unsigned to;  // In the first stage.
};

static __device__ Copies copies_of_a(const KernelArguments& product, const Tile& tile, int begin) {
  const Move move = move_of_thread();
  const int row = tile.first_row + move.row;
  return {place_in_a(product, row, begin + move.vector * kVector),
          static_cast<long long>(product.k) * (kRowStep * kElementBytes), product.m - row,
          shared_address(shared_memory()) + static_cast<unsigned>(place(move.row, move.vector))};
}

static __device__ Copies copies_of_b(const KernelArguments& product, const Tile& tile, int begin) {
  const Move move = move_of_thread();
  const int row = tile.first_column + move.row;
  return {place_in_b(product, row, begin + move.vector * kVector),
          static_cast<long long>(length_of_b(product.k)) * (kRowStep * kElementBytes), product.n - row,
          shared_address(shared_memory()) + static_cast<unsigned>(kBlockM * kRowBytes + place(move.row, move.vector))};
}

// Begins to fill a stage. Nothing is read of rows that do not exist, nor where k has ended.
template <int kMoves, int kRows>
static __device__ void copy(const Copies& copies, unsigned stage, bool has_k) {
  const char* from = copies.from;
  ATTUNE_UNROLL
  for (int i = 0; i < kMoves; ++i, from += copies.row_step) {
    if (kRows % kRowStep != 0 && static_cast<int>(threadIdx.x / kRowVectors) + i * kRowStep >= kRows) break;
    const bool is_there = has_k && i * kRowStep < copies.num_rows;
    copy_later(copies.to + stage + i * kRowStep * kRowBytes, from, is_there ? 16 : 0);
  }
}

static __device__ void multiply_all(const KernelArguments& product, const Tile& tile, int begin,
                                    float (&sums)[kRowTiles][kColumnTiles][4]) {
  const int steps = num_steps(tile, begin);
  Copies a = copies_of_a(product, tile, begin), b = copies_of_b(product, tile, begin);
  int left = tile.end - begin - move_of_thread().vector * kVector;  // Elements of k from the next stage's first on.
  unsigned filled = 0;
  const auto fill = [&](bool is_step) {
    if (is_step) {
      copy<kMovesA, kBlockM>(a, filled, left > 0);
      // Packed, a stage is whole: k is padded to the longest.
      copy<kMovesB, kBlockN>(b, filled, kIsPacked || left > 0);
    }
    end_copy_group();
    a.from += kBlockK * kElementBytes;
    b.from += kBlockK * kBytesOfB;
    left -= kBlockK;
    filled = next_stage(filled);
  };
  ATTUNE_ROLL
  for (int step = 0; step < kStages - 1; ++step) fill(step < steps);
  const Reads reads = reads_of_thread();
  unsigned stage = 0;
  for (int step = 0; step < steps; ++step) {
    copies_done<kStages - 2>();
    __syncthreads();
    fill(step + kStages - 1 < steps);
    multiply(reads, stage, sums);
    stage = next_stage(stage);
  }
  copies_done<0>();
}
