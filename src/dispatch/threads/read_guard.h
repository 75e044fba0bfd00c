// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>

namespace attune {

/// A thread's announcement that it reads, so that nothing it may be reading is freed. There is one per thread, on its
/// own cache line; it is reused after the thread has ended.
struct alignas(64) Reader {
  std::atomic<uint64_t> since{0};  ///< Epoch in which the read began; 0: not reading.
  std::atomic<bool> taken{false};
  Reader* next = nullptr;
};

/// Call it before the first guard of a process, so that no guard has to wait. Until then each guard issues a fence.
void prepare_read_guards() noexcept;

/// While a guard lives, objects that its thread reaches through sequentially consistent pointer loads are not freed.
/// About 2 ns (8 ns on a kernel without membarrier). Guards do not nest.
class ReadGuard {
 public:
  ReadGuard() noexcept;
  ~ReadGuard() { reader_.since.store(0, std::memory_order_release); }
  ReadGuard(const ReadGuard&) = delete;
  ReadGuard& operator=(const ReadGuard&) = delete;

 private:
  Reader& reader_;
};

/// Returns when no thread still reads objects behind a pointer that was changed (sequentially consistent) before this
/// call. Sleeps between checks and never delays readers. Returns false if this cannot be known; then nothing may be
/// freed.
bool wait_for_readers() noexcept;

}  // namespace attune
