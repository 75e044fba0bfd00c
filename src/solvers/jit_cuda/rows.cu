// SPDX-License-Identifier: MIT
// Vectors of 16 bytes of rows that begin anywhere, elements of C, and the sum of parts of k. Every kernel has this text
// behind its constants: kIn and kOut (0: fp32, 1: bf16, 2: fp16), kIsShifted (rows are no multiples of 16 bytes),
// kIsPacked (B is packed as cuda.k64.v1), kIsSplit (k has parts).
constexpr int kElementBytes = kIn == 0 ? 4 : 2;
constexpr int kVector = 16 / kElementBytes;  // Elements of 16 bytes.
constexpr int kWarp = 32;

struct Vector {
  unsigned words[4];
};

static __device__ Vector vector_of(uint4 words) { return {{words.x, words.y, words.z, words.w}}; }

static __device__ float value_of(unsigned short element) {
  if constexpr (kIn == 2) return half_to_float(element);
  return __uint_as_float(static_cast<unsigned>(element) << 16);
}

static __device__ void unpack(const Vector& vector, float (&values)[kVector]) {
  ATTUNE_UNROLL
  for (int i = 0; i < 4; ++i) {
    if constexpr (kIn == 0) {
      values[i] = __uint_as_float(vector.words[i]);
    } else {
      values[2 * i] = value_of(static_cast<unsigned short>(vector.words[i]));
      values[2 * i + 1] = value_of(static_cast<unsigned short>(vector.words[i] >> 16));
    }
  }
}

// The 16 bytes that begin `bytes` (0 … 15, even) behind the first of two neighbouring vectors.
static __device__ Vector shifted(const Vector& low, const Vector& high, int bytes) {
  unsigned words[8] = {low.words[0],  low.words[1],  low.words[2],  low.words[3],
                       high.words[0], high.words[1], high.words[2], high.words[3]};
  if (bytes & 8) {
    ATTUNE_UNROLL
    for (int i = 0; i < 6; ++i) words[i] = words[i + 2];
  }
  if (bytes & 4) {
    ATTUNE_UNROLL
    for (int i = 0; i < 5; ++i) words[i] = words[i + 1];
  }
  Vector vector;
  ATTUNE_UNROLL
  for (int i = 0; i < 4; ++i) vector.words[i] = bytes & 2 ? words[i] >> 16 | words[i + 1] << 16 : words[i];
  return vector;
}

// kVector elements of a row of `length` elements from k on; zeros from `end` on. The row exists. Reads no byte of a
// vector (16 bytes at a multiple of 16) that has none of these elements.
template <bool kOnce>
static __device__ Vector vector_at(const void* matrix, int row, int length, int k, int end) {
  const char* const bytes = static_cast<const char*>(matrix);
  const long long at = static_cast<long long>(row) * length + k;
  if constexpr (!kIsShifted) {
    const char* const address = bytes + at * kElementBytes;
    return vector_of(kOnce ? load_once(address, k < end) : load_again(address, k < end));
  } else {
    const int shift = static_cast<int>(at % kVector), count = end - k;
    const char* const address = bytes + (at - shift) * kElementBytes;
    const Vector low = vector_of(load_again(address, count > 0));
    const Vector high = vector_of(load_again(address + 16, shift != 0 && count > kVector - shift));
    Vector vector = shifted(low, high, shift * kElementBytes);
    ATTUNE_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int left = count * kElementBytes - 4 * i;
      vector.words[i] = left >= 4 ? vector.words[i] : left <= 0 ? 0u : vector.words[i] & 0xffffu;
    }
    return vector;
  }
}

// Elements between two rows of B that are 8 apart, in eighths: k, or in cuda.k64.v1 k with its padding.
static __device__ int length_of_b(int k) { return kIsPacked ? (k + 63) / 64 * 64 : k; }

// Where an element of B is. Packed, rows are panels of 8 in blocks of 32 along k.
static __device__ long long place_in_b(int row, int length, int k) {
  const long long first = static_cast<long long>(kIsPacked ? row / 8 * 8 : row) * length;
  return first + (kIsPacked ? k / 32 * 256 + row % 8 * 32 + k % 32 : k);
}

// vector_at() of B. Packed vectors are whole: they have zeros behind the last element.
template <bool kOnce>
static __device__ Vector vector_of_b(const KernelArguments& product, int row, int k, int end) {
  if constexpr (!kIsPacked) return vector_at<kOnce>(product.b, row, product.k, k, end);
  const char* const address =
      static_cast<const char*>(product.b) + place_in_b(row, length_of_b(product.k), k) * kElementBytes;
  return vector_of(kOnce ? load_once(address, k < end) : load_again(address, k < end));
}

// A row or column of C that exists: what is computed for others is not stored.
static __device__ int within(int index, int extent) { return index < extent ? index : extent - 1; }

static __device__ float bias_of(const KernelArguments& product, int column) {
  if (product.bias == nullptr) return 0;
  if constexpr (kIn == 0) return static_cast<const float*>(product.bias)[column];
  return value_of(static_cast<const unsigned short*>(product.bias)[column]);
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

// The sums of an element's parts, added in their order, so that the result does not depend on who is last.
static __device__ float sum_of_parts(const KernelArguments& product, int row, int column) {
  const long long size = static_cast<long long>(product.m) * product.n;
  const float* one = product.sums + static_cast<long long>(row) * product.n + column;
  constexpr int kAhead = 8;  // Loads that wait together: one after another each would take its whole way.
  float sum = 0;
  for (int first = 0; first < product.num_parts; first += kAhead) {
    float sums[kAhead];
    ATTUNE_UNROLL
    for (int i = 0; i < kAhead; ++i, one += size) sums[i] = first + i < product.num_parts ? __ldcg(one) : 0;
    ATTUNE_UNROLL
    for (int i = 0; i < kAhead; ++i) sum += sums[i];
  }
  return sum;
}

// Stores an element of a tile, or its part's share of it.
static __device__ void put(const KernelArguments& product, int part, int row, int column, float sum) {
  if constexpr (!kIsSplit) return store(product, row, column, sum);
  __stcg(product.sums + (static_cast<long long>(part) * product.m + row) * product.n + column, sum);
}

// The same for two neighbouring elements, of which the second need not exist. Rows of an even length begin at multiples
// of two elements.
static __device__ void put_pair(const KernelArguments& product, int part, int row, int column, float2 sums) {
  if (product.n % 2 != 0 || (kOut == 0 && !kIsSplit)) {
    put(product, part, row, column, sums.x);
    if (column + 1 < product.n) put(product, part, row, column + 1, sums.y);
  } else if constexpr (kIsSplit) {
    float* const to = product.sums + (static_cast<long long>(part) * product.m + row) * product.n + column;
    __stcg(reinterpret_cast<float2*>(to), sums);
  } else {
    const unsigned low = narrowed(sums.x + bias_of(product, column));
    const unsigned high = narrowed(sums.y + bias_of(product, column + 1));
    unsigned short* const to =
        static_cast<unsigned short*>(product.c) + static_cast<long long>(row) * product.n + column;
    *reinterpret_cast<unsigned*>(to) = low | high << 16;
  }
}

// Whether this block is the last of a tile's `num_parts`, whose sums it may read then. `flag`: a word of shared memory.
// All threads of a block call it, behind the stores of their sums.
static __device__ bool is_last(const KernelArguments& product, int tile, int num_parts, unsigned* flag) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    *flag = atomicAdd(product.counters + tile, 1u) == static_cast<unsigned>(num_parts) - 1;
    if (*flag != 0) product.counters[tile] = 0;
  }
  __syncthreads();
  if (*flag == 0) return false;
  __threadfence();
  return true;
}

// The last block of a tile adds the parts of all. All threads of a block call it, behind put().
static __device__ void add_parts(const KernelArguments& product, int tile, int first_row, int num_rows,
                                 int first_column, int num_columns, unsigned* flag) {
  if (!kIsSplit || product.counters == nullptr) return;
  if (!is_last(product, tile, product.num_parts, flag)) return;
  for (int i = static_cast<int>(threadIdx.x); i < num_rows * num_columns; i += static_cast<int>(blockDim.x)) {
    const int row = first_row + i / num_columns, column = first_column + i % num_columns;
    if (row < product.m && column < product.n) store(product, row, column, sum_of_parts(product, row, column));
  }
}

// The second launch.
extern "C" __global__ void __launch_bounds__(256) attune_sum_parts(KernelArguments product) {
  const long long size = static_cast<long long>(product.m) * product.n;
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; at < size; at += step) {
    const int row = static_cast<int>(at / product.n), column = static_cast<int>(at % product.n);
    store(product, row, column, sum_of_parts(product, row, column));
  }
}
