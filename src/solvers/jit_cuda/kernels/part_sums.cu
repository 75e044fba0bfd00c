// SPDX-License-Identifier: MIT
// Behind last_block.cu and sum_of_parts.cu, where k has parts: sums are left in the workspace as a part's share.
static __device__ void put(const KernelArguments& product, int part, int row, int column, float sum) {
  __stcg(product.sums + (static_cast<long long>(part) * product.m + row) * product.n + column, sum);
}

// Two neighbouring elements, of which the second need not exist. Rows of an even length begin at multiples of two
// elements.
static __device__ void put_pair(const KernelArguments& product, int part, int row, int column, float2 sums) {
  const bool is_odd = product.n % 2 != 0, has_second = is_odd && column + 1 < product.n;
  store_floats(product.sums + (static_cast<long long>(part) * product.m + row) * product.n + column, sums, is_odd,
               has_second);
}

// The last block of a tile adds the parts of all. All threads of a block call it, behind put().
static __device__ void add_parts(const KernelArguments& product, int tile, int first_row, int num_rows,
                                 int first_column, int num_columns, unsigned* flag) {
  if (product.counters == nullptr) return;
  if (!is_last(product, tile, product.num_parts, flag)) return;
  ATTUNE_ROLL
  for (int i = static_cast<int>(threadIdx.x); i < num_rows * num_columns; i += static_cast<int>(blockDim.x)) {
    const int in_row = divided(i, num_columns), row = first_row + in_row,
              column = first_column + i - in_row * num_columns;
    if (row < product.m && column < product.n) store(product, row, column, sum_of_parts(product, row, column));
  }
}
