// SPDX-License-Identifier: MIT
#pragma once
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace attune {

/// 128-bit XXH3 digest: identifies content, gives no security.
struct Hash128 {
  uint64_t high = 0, low = 0;
  auto operator<=>(const Hash128&) const = default;
  std::string hex() const;  ///< 32 lower-case digits.
};

Hash128 hash128(std::span<const std::byte> bytes) noexcept;
Hash128 hash128(std::string_view text) noexcept;

/// Mixes a counter into a seed: equal (seed, stream) give equal numbers on every machine.
uint64_t derive_seed(uint64_t seed, std::string_view stream) noexcept;

}  // namespace attune
