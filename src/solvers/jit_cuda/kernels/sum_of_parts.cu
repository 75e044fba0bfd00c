// SPDX-License-Identifier: MIT
// Behind results.cu: the sums of an element's parts, added in their order, so that the result does not depend on who is
// last.
static __device__ float sum_of_parts(const KernelArguments& product, int row, int column) {
  const long long size = static_cast<long long>(product.m) * product.n;
  const float* one = product.sums + static_cast<long long>(row) * product.n + column;
  constexpr int kAhead = 8;  // Loads that wait together: one after another each would take its whole way.
  float sum = 0;
  ATTUNE_ROLL
  for (int first = 0; first < product.num_parts; first += kAhead) {
    float sums[kAhead];
    ATTUNE_UNROLL
    for (int i = 0; i < kAhead; ++i, one += size) sums[i] = first + i < product.num_parts ? __ldcg(one) : 0;
    ATTUNE_UNROLL
    for (int i = 0; i < kAhead; ++i) sum += sums[i];
  }
  return sum;
}
