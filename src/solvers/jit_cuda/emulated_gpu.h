// SPDX-License-Identifier: MIT
// For tests: what a kernel's text needs of CUDA and of device_functions.cu, on a host, so that its addresses, masks and
// meeting points are tried where no GPU is. Include it, then rows.cu and a kernel behind their constants.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>

#include "solvers/jit_cuda/emulated_block.h"
#include "tensor/convert.h"

namespace attune::emulated_gpu {

struct Index {
  unsigned x = 0;
};
struct uint4 {
  unsigned x, y, z, w;
};
struct float2 {
  float x, y;
};
struct float4 {
  float x, y, z, w;
};

inline float bits_as_float(unsigned bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline float half_to_float(unsigned short half) {
  float value = 0;
  to_float(DType::fp16, reinterpret_cast<const std::byte*>(&half), std::span(&value, 1));
  return value;
}
inline unsigned short narrowed_to(DType type, float value) {
  unsigned short narrow = 0;
  from_float(type, std::span<const float>(&value, 1), reinterpret_cast<std::byte*>(&narrow));
  return narrow;
}
inline unsigned short float_to_half(float value) { return narrowed_to(DType::fp16, value); }
inline unsigned short float_to_bfloat(float value) { return narrowed_to(DType::bf16, value); }
inline void synchronize_block() { Block::current().meet_block(); }
inline unsigned char* shared_memory() { return Block::current().shared(); }
inline void fence() { Block::current().fence(); }
template <typename T>
void store_for_others(T* address, T value) {
  Block::current().store_for_others();
  *address = value;
}
template <typename T>
T load_of_others(const T* address) {
  Block::current().load_of_others();
  return *address;
}
inline unsigned add_once(unsigned* counter, unsigned more) {
  Block::current().announce();
  const unsigned before = *counter;
  *counter += more;
  return before;
}

/// An element of a pair that a lane holds.
template <int kType>
float element(unsigned pair, int which) {
  const auto bits = static_cast<unsigned short>(pair >> (which * 16));
  return kType == 2 ? half_to_float(bits) : bits_as_float(static_cast<unsigned>(bits) << 16);
}

/// PTX's description of mma.m16n8k16, element by element.
template <int kType>
void multiply_add(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  Block& block = Block::current();
  block.given() = {{a[0], a[1], a[2], a[3], b0, b1, 0, 0}, nullptr};
  block.meet_warp();
  const unsigned lane = block.thread() % 32;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    for (unsigned k = 0; k < 16; ++k) {
      const unsigned of_group = k % 8 / 2;
      const Block::Given& of_a = block.given_by(row % 8 * 4 + of_group);
      const Block::Given& of_b = block.given_by(column * 4 + of_group);
      sums[i] += element<kType>(of_a.words[row / 8 + k / 8 * 2], k % 2) * element<kType>(of_b.words[4 + k / 8], k % 2);
    }
  }
  block.meet_warp();
}

/// Shared memory begins at a multiple of 128 bytes that is not 0.
constexpr unsigned kSharedAddress = 1024;
inline unsigned shared_address(const void* address) {
  return kSharedAddress + static_cast<unsigned>(static_cast<const unsigned char*>(address) - Block::current().shared());
}
inline unsigned char* at_shared_address(unsigned address) {
  return Block::current().shared() + (address - kSharedAddress);
}

/// PTX's description of ldmatrix.x4.
inline void load_matrices(unsigned (&matrices)[4], unsigned row) {
  Block& block = Block::current();
  block.given().address = at_shared_address(row);
  block.meet_warp();
  const unsigned lane = block.thread() % 32;
  for (unsigned i = 0; i < 4; ++i)
    std::memcpy(&matrices[i], static_cast<const char*>(block.given_by(i * 8 + lane / 4).address) + lane % 4 * 4, 4);
  block.meet_warp();
}

inline void copy_later(unsigned to, const void* from, int bytes) {
  Block::current().copies().back().push_back({at_shared_address(to), from, bytes});
}
inline void end_copy_group() { Block::current().copies().emplace_back(); }
template <int kLeft>
void copies_done() {
  auto& groups = Block::current().copies();
  while (groups.size() > kLeft + 1) {
    for (const Block::Copy& copy : groups.front()) {
      std::memset(copy.to, 0, 16);
      std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.bytes));
    }
    groups.erase(groups.begin());
  }
}

inline uint4 load_once(const void* address, bool is_there) {
  uint4 words{};
  if (!is_there) return words;
  if (reinterpret_cast<uintptr_t>(address) % 16 != 0) throw std::runtime_error("a vector is misaligned");
  std::memcpy(&words, address, sizeof words);
  return words;
}
inline uint4 load_again(const void* address, bool is_there) { return load_once(address, is_there); }

template <typename T>
T load_element(const void* address, bool is_there) {
  T element = 0;
  if (is_there) std::memcpy(&element, address, sizeof element);
  return element;
}
inline unsigned short load_short(const void* address, bool is_there) {
  return load_element<unsigned short>(address, is_there);
}
inline unsigned load_word(const void* address, bool is_there) { return load_element<unsigned>(address, is_there); }

/// Two elements at once, at a multiple of their bytes, or the first, and the second if it exists.
template <typename T>
void store_pair(T* to, T first, T second, bool is_odd, bool has_second) {
  if (!is_odd && reinterpret_cast<uintptr_t>(to) % (2 * sizeof(T)) != 0)
    throw std::runtime_error("a pair of elements is misaligned");
  *to = first;
  if (!is_odd || has_second) to[1] = second;
}
inline void store_shorts(unsigned short* to, unsigned short first, unsigned short second, bool is_odd,
                         bool has_second) {
  store_pair(to, first, second, is_odd, has_second);
}
inline void store_floats(float* to, float2 both, bool is_odd, bool has_second) {
  Block::current().store_for_others();
  store_pair(to, both.x, both.y, is_odd, has_second);
}

inline float sum_of_lanes(float value) {
  Block& block = Block::current();
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    std::memcpy(block.given().words, &value, sizeof value);
    block.meet_warp();
    value += bits_as_float(block.given_by(block.thread() % 32 ^ distance).words[0]);
    block.meet_warp();
  }
  return value;
}

}  // namespace attune::emulated_gpu

// NOLINTBEGIN: CUDA's names.
#define ATTUNE_UNROLL
#define ATTUNE_ROLL
#define ATTUNE_UNROLL_TIMES(times)
#define __device__
#define __global__
#define __launch_bounds__(...)
#define threadIdx (Index{Block::current().thread()})
#define blockIdx (Index{Block::current().number()})
#define blockDim (Index{Block::current().num_threads()})
#define gridDim (Index{Block::current().num_blocks()})
#define __syncthreads synchronize_block
#define __threadfence fence
#define __uint_as_float bits_as_float
#define __fmaf_rn std::fma
#define __ldcg load_of_others
#define __stcg store_for_others
#define atomicAdd add_once
// NOLINTEND
