// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>

namespace attune {

/// What a thread that looks up announces, so that nothing it may be reading is freed. One per thread, on a cache line
/// of its own; another thread's when its own has ended.
struct alignas(64) Reader {
  std::atomic<uint64_t> since{0};  ///< The epoch in which it began to read; 0: it reads nothing.
  std::atomic<bool> taken{false};
  Reader* next = nullptr;
};

/// To be called before the first guard of a process, so that a guard waits for nobody. Until then each brings a fence.
void prepare_read_guards() noexcept;

/// While it lives, what the pointers that its thread loads (sequentially consistent) point to is not freed. About 2 ns
/// (8 on a kernel without membarrier). Not nested.
class ReadGuard {
 public:
  ReadGuard() noexcept;
  ~ReadGuard() { reader_.since.store(0, std::memory_order_release); }
  ReadGuard(const ReadGuard&) = delete;
  ReadGuard& operator=(const ReadGuard&) = delete;

 private:
  Reader& reader_;
};

/// Returns when no thread reads any more what a pointer had pointed to that was changed (sequentially consistent)
/// before this call. Sleeps between looks; readers are never held up. False: that cannot be known, free nothing.
bool wait_for_readers() noexcept;

}  // namespace attune
