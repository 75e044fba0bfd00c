// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>

#include "attune/problem.h"

namespace attune {

/// Multiplies and folds both halves of the product: the step of wyhash (public domain, github.com/wangyi-fudan/wyhash).
inline uint64_t mix(uint64_t a, uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
}

/// Constants with about as many ones as zeros: digits of pi in hexadecimal.
inline constexpr std::array<uint64_t, 8> kSecrets = {0x243f6a8885a308d3, 0x13198a2e03707345, 0xa4093822299f31d1,
                                                     0x082efa98ec4e6c89, 0x452821e638d01377, 0xbe5466cf34e90c6d,
                                                     0xc0ac29b7c97c50dd, 0x3f84d5b5b5470917};

/// The numbers of a shape without M. `head`: types and flags. `rest`: fields that no typed key has.
struct ShapeWords {
  uint64_t op = 0, head = 0, n = 0, k = 0, batch = 0, rest = 0;
};

/// Hash of what the rows of a group have in common, rows that differ in M alone: the key without M, and the layout.
/// Adding an M is cheap. Equal on all machines.
struct GroupKey {
  uint64_t high = 0, low = 0;

  static GroupKey of(const ShapeWords& words) noexcept {
    const uint64_t head = words.head | words.op << 32;
    GroupKey key;
    key.high = mix(head ^ kSecrets[0], words.n ^ kSecrets[1]);
    key.high = mix(key.high ^ words.k, words.batch ^ kSecrets[2]);
    key.low = mix(words.k ^ kSecrets[5], words.n ^ kSecrets[4]);
    key.low = mix(key.low ^ head, words.rest ^ kSecrets[6]);
    key.high = mix(key.high ^ words.rest, kSecrets[3]);
    key.low = mix(key.low ^ words.batch, kSecrets[7]);
    return key;
  }
  ProblemKey with_m(int64_t m) const noexcept {
    const auto number = static_cast<uint64_t>(m);
    return {mix(mix(high ^ number, kSecrets[4]) ^ high, kSecrets[5]),
            mix(mix(low ^ number, kSecrets[6]) ^ low, kSecrets[7])};
  }
};

}  // namespace attune
