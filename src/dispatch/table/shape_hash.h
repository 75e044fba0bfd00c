// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "attune/key.h"
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

/// Two constants for each value of a key, from splitmix64 (public domain, prng.di.unimi.it/splitmix64.c).
struct ValueSecrets {
  std::array<uint64_t, Key::kMaxValues> high{}, low{};
  constexpr ValueSecrets() {
    uint64_t state = kSecrets[0];
    const auto next = [&] {
      uint64_t z = state += 0x9e3779b97f4a7c15;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      return z ^ (z >> 31);
    };
    for (size_t i = 0; i < Key::kMaxValues; ++i) {
      high[i] = next();
      low[i] = next();
    }
  }
};
inline constexpr ValueSecrets kValueSecrets;

/// Hash of what the rows of a group have in common, rows that differ in one value alone (M): the other values of the
/// key, and the layout. Adding an M is cheap. Equal on all machines.
struct GroupKey {
  uint64_t high = 0, low = 0;

  /// `skipped`: the value that is left out, `values.size()` if none. The products of pairs of values are summed, like
  /// those of XXH3 (github.com/Cyan4973/xxHash, BSD-2): they do not wait for each other.
  static GroupKey of(OpId op, std::span<const int64_t> values, size_t skipped, int64_t layout) noexcept {
    // With the number of values, because a value of 0 changes no sum of an odd number of them.
    const uint64_t number = static_cast<uint64_t>(op) | values.size() << 16, named = static_cast<uint64_t>(layout);
    GroupKey key{mix(number ^ kSecrets[0], named ^ kSecrets[1]), mix(named ^ kSecrets[2], number ^ kSecrets[3])};
    const auto value = [&](size_t i) { return i == skipped ? 0 : static_cast<uint64_t>(values[i]); };
    size_t i = 0;
    for (; i + 1 < values.size(); i += 2) key.add(i, value(i), value(i + 1));
    if (i < values.size()) key.add(i, value(i), 0);
    return key;
  }
  ProblemKey with_m(int64_t m) const noexcept {
    const auto number = static_cast<uint64_t>(m);
    return {mix(mix(high ^ number, kSecrets[4]) ^ high, kSecrets[5]),
            mix(mix(low ^ number, kSecrets[6]) ^ low, kSecrets[7])};
  }

 private:
  void add(size_t i, uint64_t a, uint64_t b) noexcept {
    const auto& secrets = kValueSecrets;
    const size_t j = (i + 1) % Key::kMaxValues;
    high += mix(a ^ secrets.high[i], b ^ secrets.high[j]);
    low += mix(a ^ secrets.low[i], b ^ secrets.low[j]);
  }
};

}  // namespace attune
