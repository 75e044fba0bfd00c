// SPDX-License-Identifier: MIT
// Behind warps.cu, products of the tensor cores (kRows 8 or 16, kColumns a multiple of 16). The weights are the left
// operand of a product of 16×16 by 16×8. A lane loads 8 neighbouring elements of two rows of B and of one of A, of
// which two products are made: the order of k's elements is the same in both operands, and no other than that of memory
// is needed.
constexpr int kTiles = kColumns / 16, kRowTiles = kRows / 8;
constexpr int kChunk = 32;  // Elements of k that a warp loads of a row at once.
// Steps between two tests of the loop: of the smallest steps, counting would be a third.
constexpr int kTimes = kTiles * kRowTiles * kUnroll <= 2 ? 2 : 1;

// Adds the products of kUnroll chunks, of whose first row `count` elements are left from this lane's on.
static __device__ void add_products(const char* const (&a)[kRowTiles], const char* const (&b)[kTiles][2], int count,
                                    float (&sums)[kTiles][kRowTiles][4]) {
  Vector weights[kUnroll][kTiles][2], x[kUnroll][kRowTiles];
  ATTUNE_UNROLL
  for (int u = 0; u < kUnroll; ++u) {
    ATTUNE_UNROLL
    for (int t = 0; t < kTiles * 2; ++t)
      weights[u][t / 2][t % 2] = vector_of_b<true>(b[t / 2][t % 2] + u * kChunk * kBytesOfB, count - u * kChunk);
    ATTUNE_UNROLL
    for (int r = 0; r < kRowTiles; ++r)
      x[u][r] = vector_at<false>(a[r] + u * kChunk * kElementBytes, count - u * kChunk);
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

static __device__ void multiply(const KernelArguments& product, const Tile& tile) {
  constexpr int kStep = kDepthWarps * kChunk * kUnroll;
  const Place place = place_of_thread();
  const int group = place.lane / 4, of_group = place.lane % 4;
  const int first = tile.begin + place.depth_warp * kChunk * kUnroll + of_group * 8;
  const char *a[kRowTiles], *b[kTiles][2];
  ATTUNE_UNROLL
  for (int r = 0; r < kRowTiles; ++r)
    a[r] = place_in_a(product, within(tile.first_row + r * 8 + group, product.m), first);
  ATTUNE_UNROLL
  for (int t = 0; t < kTiles * 2; ++t)
    b[t / 2][t % 2] = place_in_b(product, within(tile.first_column + place.column + t * 8 + group, product.n), first);
  float sums[kTiles][kRowTiles][4] = {};
  // All lanes of a warp make its products, also those that have nothing left.
  ATTUNE_UNROLL_TIMES(kTimes)
  for (int left = tile.end - first; left > -of_group * 8; left -= kStep) {
    add_products(a, b, left, sums);
    ATTUNE_UNROLL
    for (int r = 0; r < kRowTiles; ++r) a[r] += kStep * kElementBytes;
    ATTUNE_UNROLL
    for (int t = 0; t < kTiles * 2; ++t) b[t / 2][t % 2] += kStep * kBytesOfB;
  }
  float* const to = sums_of_warp(place.depth_warp) + of_group * 2 * kBlockColumns + place.column + group;
  ATTUNE_UNROLL
  for (int t = 0; t < kTiles; ++t) {
    ATTUNE_UNROLL
    for (int r = 0; r < kRowTiles; ++r) {
      ATTUNE_UNROLL
      for (int i = 0; i < 4; ++i) to[(r * 8 + i % 2) * kBlockColumns + t * 16 + i / 2 * 8] = sums[t][r][i];
    }
  }
}
