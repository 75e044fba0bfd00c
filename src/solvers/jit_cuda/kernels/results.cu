// SPDX-License-Identifier: MIT
// Elements of C, behind rows.cu or, for the second launch, behind the types alone.
static __device__ float value_of(unsigned short element) {
  if constexpr (kIn == 2) return half_to_float(element);
  return __uint_as_float(static_cast<unsigned>(element) << 16);
}

// Without a branch: a loop would be compiled twice, with a bias and without.
static __device__ float bias_of(const KernelArguments& product, int column) {
  const bool is_there = product.bias != nullptr && column < product.n;
  if constexpr (kIn == 0) return __uint_as_float(load_word(static_cast<const float*>(product.bias) + column, is_there));
  return value_of(load_short(static_cast<const unsigned short*>(product.bias) + column, is_there));
}

static __device__ unsigned short narrowed(float value) {
  if constexpr (kOut == 2) return float_to_half(value);
  return float_to_bfloat(value);
}

static __device__ void store(const KernelArguments& product, int row, int column, float sum) {
  const long long at = static_cast<long long>(row) * product.n + column;
  const float value = sum + bias_of(product, column);
  if constexpr (kOut == 0)
    static_cast<float*>(product.c)[at] = value;
  else
    static_cast<unsigned short*>(product.c)[at] = narrowed(value);
}
