// SPDX-License-Identifier: MIT
// Kernels for the device's own memory, for cuda_memory.cpp, and for its speed, for cuda_device.cpp. Grids may have any
// size.
#include <cstdint>

#include "device/cuda/area_list.h"

using attune::AreaList;

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

/// Part of an area that one block works on.
struct Piece {
  uint32_t area;
  uint64_t begin, end;  // Bytes within the area.
};

/// Returns the piece with a number; equal for all threads of a block.
__device__ Piece piece_of(const AreaList& list, uint32_t number) {
  uint32_t low = 0, high = list.count;  // An area without bytes has no piece, so choose the last area that begins here.
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (list.first_piece[middle] <= number ? low : high) = middle;
  }
  const uint64_t begin = (number - list.first_piece[low]) * AreaList::kPieceBytes;
  const uint64_t left = list.bytes[low] - begin;
  return {low, begin, begin + (left < AreaList::kPieceBytes ? left : AreaList::kPieceBytes)};
}

/// A nonlinear mix of 8 bytes with their place, in two halves.
struct Mix {
  uint64_t low, high;
};
__device__ Mix mix_of(uint64_t word, uint64_t place) {
  const uint64_t one = mixed(word + (place + 1) * 0x9e3779b97f4a7c15ULL);
  return {one, one * ((one >> 32) | 1)};
}

/// The sum over a block, in its first thread.
__device__ uint64_t block_sum(uint64_t value, uint64_t* shared) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (uint32_t i = 1; i < blockDim.x / 32; ++i) value += shared[i];
  }
  return value;
}

}  // namespace

extern "C" {

/// Has no answer.
__global__ void attune_fill(const __grid_constant__ AreaList list, unsigned long long*) {
  for (uint32_t number = blockIdx.x; number < list.first_piece[list.count]; number += gridDim.x) {
    const Piece piece = piece_of(list, number);
    const uint64_t pattern = list.pattern[piece.area];
    uint8_t* const area = list.data[piece.area] + piece.begin;
    const uint64_t bytes = piece.end - piece.begin, begin = reinterpret_cast<uint64_t>(area);
    const uint64_t head = (16 - begin % 16) % 16 < bytes ? (16 - begin % 16) % 16 : bytes;
    const uint64_t vectors = (bytes - head) / 16, tail = head + 16 * vectors;
    auto* const wide = reinterpret_cast<ulonglong2*>(area + head);
    for (uint64_t i = threadIdx.x; i < vectors; i += blockDim.x) wide[i] = make_ulonglong2(pattern, pattern);
    for (uint64_t i = threadIdx.x; i < head; i += blockDim.x) area[i] = byte_at(pattern, begin + i);
    for (uint64_t i = tail + threadIdx.x; i < bytes; i += blockDim.x) area[i] = byte_at(pattern, begin + i);
  }
}

/// `found`: four words of each area, first 0. They are the complement of the position of the first byte that differs,
/// the number of equal elements, and the complement of the index of the first equal element. Elements begin at the
/// area's begin; a partial element at the end is compared but not counted.
__global__ void attune_scan(const __grid_constant__ AreaList list, unsigned long long* found) {
  for (uint32_t number = blockIdx.x; number < list.first_piece[list.count]; number += gridDim.x) {
    const Piece piece = piece_of(list, number);
    const uint64_t pattern = list.pattern[piece.area];
    const uint32_t size = list.pattern_bytes[piece.area];
    const uint8_t* const area = list.data[piece.area];
    const uint64_t begin = reinterpret_cast<uint64_t>(area);
    uint64_t other = ~uint64_t{0}, equal = ~uint64_t{0}, count = 0;
    for (uint64_t at = piece.begin + threadIdx.x * uint64_t{size}; at < piece.end; at += blockDim.x * uint64_t{size}) {
      const uint64_t end = at + size < piece.end ? at + size : piece.end;
      uint64_t differs = end;
      for (uint64_t j = at; j < end; ++j) {
        if (area[j] != byte_at(pattern, begin + j) && differs == end) differs = j;
      }
      if (differs != end) {
        other = differs < other ? differs : other;
      } else if (end - at == size) {
        ++count;
        equal = at / size < equal ? at / size : equal;
      }
    }
    unsigned long long* const answer = found + 4 * piece.area;
    if (other != ~uint64_t{0}) atomicMax(&answer[0], ~other);
    if (count > 0) atomicAdd(&answer[1], count);
    if (count > 0) atomicMax(&answer[2], ~equal);
  }
}

/// Adds to the first two of the four words of each area in `sums` a mix of each 8 bytes with their place, modulo 2^64
/// each. Sums do not depend on the order of the threads.
__global__ void __launch_bounds__(256) attune_hash(const __grid_constant__ AreaList list, unsigned long long* sums) {
  __shared__ uint64_t shared[32];
  for (uint32_t number = blockIdx.x; number < list.first_piece[list.count]; number += gridDim.x) {
    const Piece piece = piece_of(list, number);
    const uint8_t* const area = list.data[piece.area];
    uint64_t low = 0, high = 0;
    const auto add = [&](uint64_t word, uint64_t place) {
      const Mix mix = mix_of(word, place);
      low += mix.low;
      high += mix.high;
    };
    uint64_t place = piece.begin / 8;
    if (reinterpret_cast<uint64_t>(area) % 16 == 0) {
      const auto* const wide = reinterpret_cast<const ulonglong2*>(area + piece.begin);
      const uint64_t vectors = (piece.end - piece.begin) / 16;
#pragma unroll 4
      for (uint64_t i = threadIdx.x; i < vectors; i += blockDim.x) {
        const ulonglong2 two = __ldcs(wide + i);
        add(two.x, place + 2 * i);
        add(two.y, place + 2 * i + 1);
      }
      place += 2 * vectors;
    }
    for (uint64_t i = place + threadIdx.x; 8 * i < piece.end; i += blockDim.x) {
      uint64_t word = 0;
      for (uint64_t j = 8 * i; j < 8 * i + 8 && j < piece.end; ++j) word |= uint64_t{area[j]} << (8 * (j % 8));
      add(word, i);
    }
    low = block_sum(low, shared);
    high = block_sum(high, shared);
    if (threadIdx.x == 0) {
      atomicAdd(&sums[4 * piece.area], low);
      atomicAdd(&sums[4 * piece.area + 1], high);
    }
  }
}

/// Reads the area `rounds` times, past the first-level caches. Writes only for a value that no input gives.
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

/// One thread waits for about `ns`, and writes the cycles and nanoseconds between two ticks of the device's timer.
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
