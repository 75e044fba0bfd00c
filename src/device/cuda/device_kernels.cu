// SPDX-License-Identifier: MIT
// What the device does with its own memory, for cuda_memory.cpp, and what it knows of its speed, for cuda_device.cpp.
// Each thread of a grid of any size takes every n-th element.
#include <cstdint>

namespace {

__device__ uint64_t first_index() { return blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; }
__device__ uint64_t stride() { return gridDim.x * uint64_t{blockDim.x}; }

/// The final mix of MurmurHash3: every bit of the input changes half of the output's.
__device__ uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

/// The byte of a pattern of 8 bytes at an address.
__device__ uint8_t byte_at(uint64_t pattern, uint64_t address) {
  return static_cast<uint8_t>(pattern >> (8 * (address % 8)));
}

}  // namespace

extern "C" {

/// `pattern` is repeated to 8 bytes and follows the addresses.
__global__ void attune_fill(uint8_t* area, uint64_t bytes, uint64_t pattern) {
  const uint64_t begin = reinterpret_cast<uint64_t>(area);
  const uint64_t head = (16 - begin % 16) % 16 < bytes ? (16 - begin % 16) % 16 : bytes;
  const uint64_t vectors = (bytes - head) / 16, tail = head + 16 * vectors;
  auto* const wide = reinterpret_cast<ulonglong2*>(area + head);
  for (uint64_t i = first_index(); i < vectors; i += stride()) wide[i] = make_ulonglong2(pattern, pattern);
  for (uint64_t i = first_index(); i < head; i += stride()) area[i] = byte_at(pattern, begin + i);
  for (uint64_t i = tail + first_index(); i < bytes; i += stride()) area[i] = byte_at(pattern, begin + i);
}

/// `found`: first byte that differs, number of equal elements, first equal element; at first ~0, 0, ~0. Elements of
/// `size` bytes begin at the area's begin; what is left at its end is compared but no element.
__global__ void attune_scan(const uint8_t* area, uint64_t bytes, uint64_t pattern, uint32_t size,
                            unsigned long long* found) {
  const uint64_t begin = reinterpret_cast<uint64_t>(area), elements = (bytes + size - 1) / size;
  uint64_t other = ~uint64_t{0}, equal = ~uint64_t{0}, count = 0;
  for (uint64_t i = first_index(); i < elements; i += stride()) {
    const uint64_t at = i * size, end = at + size < bytes ? at + size : bytes;
    uint64_t differs = end;
    for (uint64_t j = at; j < end; ++j) {
      if (area[j] != byte_at(pattern, begin + j) && differs == end) differs = j;
    }
    if (differs != end) {
      other = differs < other ? differs : other;
    } else if (end - at == size) {
      ++count;
      equal = i < equal ? i : equal;
    }
  }
  if (other != ~uint64_t{0}) atomicMin(&found[0], other);
  if (count > 0) atomicAdd(&found[1], count);
  if (count > 0) atomicMin(&found[2], equal);
}

/// Adds to `sum`, modulo 2^128 in halves that are independent, a mix of each 8 bytes with their place. Sums do not depend
/// on the order of the threads.
__global__ void attune_hash(const uint8_t* area, uint64_t bytes, unsigned long long* sum) {
  const bool is_aligned = reinterpret_cast<uint64_t>(area) % 8 == 0;
  const uint64_t words = (bytes + 7) / 8;
  uint64_t low = 0, high = 0;
  for (uint64_t i = first_index(); i < words; i += stride()) {
    uint64_t word = 0;
    if (is_aligned && 8 * i + 8 <= bytes) {
      word = reinterpret_cast<const uint64_t*>(area)[i];
    } else {
      for (uint64_t j = 8 * i; j < 8 * i + 8 && j < bytes; ++j) word |= uint64_t{area[j]} << (8 * (j % 8));
    }
    const uint64_t one = mixed(word + mixed(i + 0x9e3779b97f4a7c15ULL));
    low += one;
    high += mixed(one ^ 0x2545f4914f6cdd1dULL);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    low += __shfl_down_sync(~0u, low, offset);
    high += __shfl_down_sync(~0u, high, offset);
  }
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&sum[0], low);
    atomicAdd(&sum[1], high);
  }
}

/// Reads the area `rounds` times, past the first-level caches. Writes only what no input gives.
__global__ void attune_read(const uint4* area, uint64_t vectors, uint32_t rounds, uint32_t* never) {
  uint32_t seen = 0;
  for (uint32_t round = 0; round < rounds; ++round) {
    uint64_t i = first_index();
    for (; i + 3 * stride() < vectors; i += 4 * stride()) {
      const uint4 a = __ldcg(area + i), b = __ldcg(area + i + stride());
      const uint4 c = __ldcg(area + i + 2 * stride()), d = __ldcg(area + i + 3 * stride());
      seen |= a.x ^ b.y ^ c.z ^ d.w ^ round;
    }
    for (; i < vectors; i += stride()) seen |= __ldcg(area + i).x;
  }
  if (seen == 0xdeadbeef && vectors == 0) *never = seen;
}

/// One thread waits for about `ns` and writes the cycles and the nanoseconds that passed between two ticks of the
/// device's timer.
__global__ void attune_clock(uint64_t ns, unsigned long long* passed) {
  const auto now = [] {
    uint64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
  };
  const uint64_t before = now();
  uint64_t begin = before, end = 0;
  while (begin == before) begin = now();
  const long long first = clock64();
  do end = now();
  while (end < begin + ns);
  passed[0] = clock64() - first;
  passed[1] = end - begin;
}

}  // extern "C"
