// SPDX-License-Identifier: MIT
// Behind results.cu, where k has no parts: sums become elements of C.
static __device__ void put(const KernelArguments& product, int, int row, int column, float sum) {
  store(product, row, column, sum);
}

// Two neighbouring elements, of which the second need not exist. Rows of an even length begin at multiples of two
// elements.
static __device__ void put_pair(const KernelArguments& product, int, int row, int column, float2 sums) {
  const bool is_odd = product.n % 2 != 0, has_second = is_odd && column + 1 < product.n;
  const long long at = static_cast<long long>(row) * product.n + column;
  const float first = sums.x + bias_of(product, column), second = sums.y + bias_of(product, column + 1);
  if constexpr (kOut == 0)
    store_floats(static_cast<float*>(product.c) + at, {first, second}, is_odd, has_second);
  else
    store_shorts(static_cast<unsigned short*>(product.c) + at, narrowed(first), narrowed(second), is_odd, has_second);
}

static __device__ void add_parts(const KernelArguments&, int, int, int, int, int, unsigned*) {}
