// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace attune {

/// Lookups, and those that no row served. Any thread, without a lock; a thread counts in a cache line of its own (but
/// for those beyond the first 63 of a process).
class CallCounters {
 public:
  struct Sums {
    uint64_t calls = 0, misses = 0;
  };

  /// One lookup. About 1 ns.
  void count(bool missed) noexcept;
  Sums sums() const noexcept;

 private:
  struct alignas(64) Counter {
    std::atomic<uint64_t> calls{0}, misses{0};
  };
  std::array<Counter, 64> counters_;
};

}  // namespace attune
