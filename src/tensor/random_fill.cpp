// SPDX-License-Identifier: MIT
#include "tensor/random_fill.h"

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "tensor/convert.h"

namespace attune {
namespace {

/// splitmix64's output function of a counter: it vectorises, unlike a generator with state.
inline uint64_t mix(uint64_t counter) {
  uint64_t z = counter * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

template <typename Draw>
void fill_blocks(DType dtype, uint64_t seed, std::span<std::byte> out, Draw draw) {
  const size_t element_bytes = static_cast<size_t>(bits(dtype)) / 8;
  const size_t count = out.size() / element_bytes;
  const uint64_t start = derive_seed(seed, "tensor");
  std::array<float, 1024> block;
  for (size_t begin = 0; begin < count; begin += block.size()) {
    const size_t size = std::min(block.size(), count - begin);
    for (size_t i = 0; i < size; ++i) block[i] = draw(mix(start + begin + i));
    from_float(dtype, std::span(block.data(), size), out.data() + begin * element_bytes);
  }
}

}  // namespace

void fill_normal(DType dtype, uint64_t seed, std::span<std::byte> out) {
  // Variance of a sum of four uniforms on [0, 65535] is 4·65535²/12.
  constexpr float kScale = 1.0f / 37836.6f;
  fill_blocks(dtype, seed, out, [](uint64_t bits) {
    const auto sum =
        static_cast<int32_t>((bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48));
    return static_cast<float>(sum - 131070) * kScale;
  });
}

void fill_integers(DType dtype, uint64_t seed, int limit, std::span<std::byte> out) {
  const auto values = static_cast<uint64_t>(2 * limit + 1);
  fill_blocks(dtype, seed, out, [=](uint64_t bits) {
    return static_cast<float>(static_cast<int>(((bits >> 32) * values) >> 32) - limit);
  });
}

}  // namespace attune
