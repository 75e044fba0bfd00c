// SPDX-License-Identifier: MIT
// Behind warps.cu, fused multiply-adds: a lane takes a vector of each row, a warp 512 neighbouring bytes.
static __device__ void unpack(const Vector& vector, float (&values)[kVector]) {
  ATTUNE_UNROLL
  for (int i = 0; i < 4; ++i) {
    const unsigned word = vector.words[i];
    if constexpr (kIn == 0) {
      values[i] = __uint_as_float(word);
    } else if constexpr (kIn == 1) {
      values[2 * i] = __uint_as_float(word << 16);
      values[2 * i + 1] = __uint_as_float(word & 0xffff0000u);
    } else {
      values[2 * i] = half_to_float(static_cast<unsigned short>(word));
      values[2 * i + 1] = half_to_float(static_cast<unsigned short>(word >> 16));
    }
  }
}

constexpr int kStep = kWarp * kVector * kDepthWarps;  // Elements of k between two vectors of a lane.

// Adds the products of kUnroll vectors of each row, of which the first has `count` elements left of its row.
static __device__ void add_products(const char* const (&a)[kRows], const char* const (&b)[kColumns], int count,
                                    float (&sums)[kRows][kColumns]) {
  Vector weights[kUnroll][kColumns];
  ATTUNE_UNROLL
  for (int u = 0; u < kUnroll; ++u) {
    ATTUNE_UNROLL
    for (int c = 0; c < kColumns; ++c)
      weights[u][c] = vector_of_b<true>(b[c] + u * kStep * kBytesOfB, count - u * kStep);
  }
  ATTUNE_UNROLL
  for (int u = 0; u < kUnroll; ++u) {
    float w[kColumns][kVector];
    ATTUNE_UNROLL
    for (int c = 0; c < kColumns; ++c) unpack(weights[u][c], w[c]);
    ATTUNE_UNROLL
    for (int r = 0; r < kRows; ++r) {
      float x[kVector];
      unpack(vector_at<false>(a[r] + u * kStep * kElementBytes, count - u * kStep), x);
      ATTUNE_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        ATTUNE_UNROLL
        for (int i = 0; i < kVector; ++i) sums[r][c] = __fmaf_rn(x[i], w[c][i], sums[r][c]);
      }
    }
  }
}

static __device__ void multiply(const KernelArguments& product, const Tile& tile) {
  const Place place = place_of_thread();
  const int first = tile.begin + (place.depth_warp * kWarp + place.lane) * kVector;
  const char *a[kRows], *b[kColumns];
  ATTUNE_UNROLL
  for (int r = 0; r < kRows; ++r) a[r] = place_in_a(product, within(tile.first_row + r, product.m), first);
  ATTUNE_UNROLL
  for (int c = 0; c < kColumns; ++c)
    b[c] = place_in_b(product, within(tile.first_column + place.column + c, product.n), first);
  float sums[kRows][kColumns] = {};
  ATTUNE_ROLL
  for (int left = tile.end - first; left > 0; left -= kStep * kUnroll) {
    add_products(a, b, left, sums);
    ATTUNE_UNROLL
    for (int r = 0; r < kRows; ++r) a[r] += kStep * kUnroll * kElementBytes;
    ATTUNE_UNROLL
    for (int c = 0; c < kColumns; ++c) b[c] += kStep * kUnroll * kBytesOfB;
  }
  float* const to = sums_of_warp(place.depth_warp) + place.column;
  ATTUNE_UNROLL
  for (int r = 0; r < kRows; ++r) {
    ATTUNE_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      const float sum = sum_of_lanes(sums[r][c]);
      if (place.lane == r * kColumns + c) to[r * kBlockColumns + c] = sum;
    }
  }
}
