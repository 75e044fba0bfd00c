// SPDX-License-Identifier: MIT
#include "base/hash.h"

#include <fmt/format.h>
// Inlined: an application's own xxhash, which may be another version, is not called.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace attune {

std::string Hash128::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

Hash128 hash128(std::span<const std::byte> bytes) noexcept {
  const XXH128_hash_t digest = XXH3_128bits(bytes.data(), bytes.size());
  return {digest.high64, digest.low64};
}

Hash128 hash128(std::string_view text) noexcept { return hash128(std::as_bytes(std::span(text))); }

uint64_t derive_seed(uint64_t seed, std::string_view stream) noexcept {
  return XXH3_64bits_withSeed(stream.data(), stream.size(), seed);
}

}  // namespace attune
