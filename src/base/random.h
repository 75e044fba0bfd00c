// SPDX-License-Identifier: MIT
#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace attune {

/// Small seeded generator (splitmix64). The standard library's distributions differ between implementations, but a seed
/// must give the same schedule everywhere, so the few distributions needed are implemented here.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() noexcept {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, 1).
  double uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  /// Uniform in [0, bound); bound > 0.
  uint64_t below(uint64_t bound) noexcept { return static_cast<uint64_t>((static_cast<Wide>(next()) * bound) >> 64); }
  /// Standard normal (Box-Muller).
  double normal() noexcept {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }
  /// Fisher-Yates.
  template <typename T>
  void shuffle(std::vector<T>& items) noexcept {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  __extension__ using Wide = unsigned __int128;  // not ISO C++, and -Wpedantic says so
  uint64_t state_;
};

}  // namespace attune
