// SPDX-License-Identifier: MIT
// Vectors of 16 bytes of rows that begin anywhere. Every kernel has this text behind its constants: kIn and kOut (0:
// fp32, 1: bf16, 2: fp16), kIsShifted (rows are no multiples of 16 bytes), kIsPacked (B is packed as cuda.k64.v1),
// kIsSplit (k has parts).
constexpr int kElementBytes = kIn == 0 ? 4 : 2;
constexpr int kVector = 16 / kElementBytes;  // Elements of 16 bytes.
constexpr int kWarp = 32;

struct Vector {
  unsigned words[4];
};

static __device__ Vector vector_of(uint4 words) { return {{words.x, words.y, words.z, words.w}}; }

// Of numbers that are not negative, for which the GPU has fewer instructions than for others.
static __device__ int divided(int number, int by) {
  return static_cast<int>(static_cast<unsigned>(number) / static_cast<unsigned>(by));
}

static __device__ int lane_of_thread() { return static_cast<int>(threadIdx.x % kWarp); }
static __device__ int warp_of_thread() { return static_cast<int>(threadIdx.x / kWarp); }

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

// The kVector elements at an address of an operand, of which `count` are of their row: zeros behind them. Reads no byte
// of a vector (16 bytes at a multiple of 16) that has none of these elements.
template <bool kOnce>
static __device__ Vector vector_at(const char* address, int count) {
  if constexpr (!kIsShifted) {
    return vector_of(kOnce ? load_once(address, count > 0) : load_again(address, count > 0));
  } else {
    const int shift = static_cast<int>(reinterpret_cast<unsigned long long>(address) % 16);
    const Vector low = vector_of(load_again(address - shift, count > 0));
    const Vector high = vector_of(load_again(address - shift + 16, shift != 0 && count * kElementBytes > 16 - shift));
    Vector vector = shifted(low, high, shift);
    ATTUNE_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int left = count * kElementBytes - 4 * i;
      vector.words[i] = left >= 4 ? vector.words[i] : left <= 0 ? 0u : vector.words[i] & 0xffffu;
    }
    return vector;
  }
}

// vector_at() of B. Packed vectors are whole: they have zeros behind the last element.
template <bool kOnce>
static __device__ Vector vector_of_b(const char* address, int count) {
  if constexpr (!kIsPacked) return vector_at<kOnce>(address, count);
  return vector_of(kOnce ? load_once(address, count > 0) : load_again(address, count > 0));
}

// Bytes between elements of a row of B that are a multiple of 32 apart, in elements. Packed, rows are panels of 8 in
// blocks of 32 along k.
constexpr int kBytesOfB = kIsPacked ? 8 * kElementBytes : kElementBytes;

static __device__ const char* place_in_a(const KernelArguments& product, int row, int k) {
  return static_cast<const char*>(product.a) + (static_cast<long long>(row) * product.k + k) * kElementBytes;
}

// Elements between two rows of B that are 8 apart, in eighths: k, or in cuda.k64.v1 k with its padding.
static __device__ int length_of_b(int k) { return kIsPacked ? (k + 63) & ~63 : k; }

static __device__ const char* place_in_b(const KernelArguments& product, int row, int k) {
  const long long first = static_cast<long long>(kIsPacked ? row & ~7 : row) * length_of_b(product.k);
  const long long in_panel = kIsPacked ? (k & ~31) * 8LL + (row & 7) * 32 + (k & 31) : k;
  return static_cast<const char*>(product.b) + (first + in_panel) * kElementBytes;
}

// A row or column of C that exists: what is computed for others is not stored.
static __device__ int within(int index, int extent) { return index < extent ? index : extent - 1; }
