// SPDX-License-Identifier: MIT
// Behind tile_kernel.cu, where rows begin anywhere: they pass through registers, and while a stage is multiplied, the
// next one is loaded.
struct Moved {
  Vector a[kMovesA], b[kMovesB];
};
static __device__ void load(const KernelArguments& product, const Tile& tile, int k0, Moved& moved) {
  const Move move = move_of_thread();
  const int k = k0 + move.vector * kVector;
  ATTUNE_UNROLL
  for (int i = 0; i < kMovesA; ++i)
    moved.a[i] = vector_at<false>(place_in_a(product, within(tile.first_row + move.row + i * kRowStep, product.m), k),
                                  tile.end - k);
  ATTUNE_UNROLL
  for (int i = 0; i < kMovesB; ++i)
    moved.b[i] = vector_of_b<false>(
        place_in_b(product, within(tile.first_column + move.row + i * kRowStep, product.n), k), tile.end - k);
}
template <int kMoves, int kRows>
static __device__ void write(const Vector (&vectors)[kMoves], unsigned char* to) {
  ATTUNE_UNROLL
  for (int i = 0; i < kMoves; ++i) {
    if (kRows % kRowStep != 0 && static_cast<int>(threadIdx.x / kRowVectors) + i * kRowStep >= kRows) break;
    *reinterpret_cast<Vector*>(to + i * kRowStep * kRowBytes) = vectors[i];
  }
}
static __device__ void write(unsigned stage, const Moved& moved) {
  const Move move = move_of_thread();
  unsigned char* const to = shared_memory() + stage + place(move.row, move.vector);
  write<kMovesA, kBlockM>(moved.a, to);
  write<kMovesB, kBlockN>(moved.b, to + kBlockM * kRowBytes);
}

static __device__ void multiply_all(const KernelArguments& product, const Tile& tile, int begin,
                                    float (&sums)[kRowTiles][kColumnTiles][4]) {
  const int steps = num_steps(tile, begin);
  const Reads reads = reads_of_thread();
  Moved moved;
  unsigned stage = 0;
  load(product, tile, begin, moved);
  write(stage, moved);
  for (int step = 0; step < steps; ++step) {
    __syncthreads();
    load(product, tile, begin + (step + 1) * kBlockK, moved);
    multiply(reads, stage, sums);
    stage = next_stage(stage);
    write(stage, moved);
  }
}
