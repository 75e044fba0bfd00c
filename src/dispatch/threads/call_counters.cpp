// SPDX-License-Identifier: MIT
#include "dispatch/threads/call_counters.h"

#include <algorithm>

namespace attune {
namespace {

/// Returns a counter of its own for each of the first threads of a process; the others share the last one.
size_t counter_of_this_thread(size_t num_counters) noexcept {
  static std::atomic<size_t> next{0};
  thread_local constinit size_t mine = ~size_t{0};
  if (mine == ~size_t{0}) mine = next.fetch_add(1, std::memory_order_relaxed);
  return std::min(mine, num_counters - 1);
}

/// Requires: only this thread changes the counter.
void add_one(std::atomic<uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

void CallCounters::count(bool missed) noexcept {
  const size_t number = counter_of_this_thread(counters_.size());
  Counter& counter = counters_[number];
  if (number + 1 < counters_.size()) {
    add_one(counter.calls);
    if (missed) add_one(counter.misses);
  } else {
    counter.calls.fetch_add(1, std::memory_order_relaxed);
    if (missed) counter.misses.fetch_add(1, std::memory_order_relaxed);
  }
}

CallCounters::Sums CallCounters::sums() const noexcept {
  Sums sums;
  for (const Counter& counter : counters_) {
    sums.calls += counter.calls.load(std::memory_order_relaxed);
    sums.misses += counter.misses.load(std::memory_order_relaxed);
  }
  return sums;
}

}  // namespace attune
