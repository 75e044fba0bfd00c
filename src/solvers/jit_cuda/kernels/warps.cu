// SPDX-License-Identifier: MIT
// Behind rows.cu: how the threads of a block share a tile of few rows (warps_kernel.cu).
constexpr int kBlockColumns = kWarps * kColumns;
constexpr int kThreads = kWarp * kWarps * kDepthWarps;

struct Tile {
  int first_row, first_column, begin, end;
};

// The sums of kDepthWarps warps, in shared memory: kRows × kBlockColumns for each.
static __device__ float* sums_of_warp(int depth_warp) {
  return reinterpret_cast<float*>(shared_memory()) + depth_warp * (kRows * kBlockColumns);
}

struct Place {
  int lane, depth_warp, column;
};
static __device__ Place place_of_thread() {
  const int warp = warp_of_thread(), depth_warp = divided(warp, kWarps);
  return {lane_of_thread(), depth_warp, (warp - depth_warp * kWarps) * kColumns};
}
