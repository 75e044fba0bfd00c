// SPDX-License-Identifier: MIT
// Behind device_functions.cu, for kernels that add what the lanes of a warp have.

static __device__ float sum_of_lanes(float value) {
  ATTUNE_UNROLL
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}
