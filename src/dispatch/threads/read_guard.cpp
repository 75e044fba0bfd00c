// SPDX-License-Identifier: MIT
#include "dispatch/threads/read_guard.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <new>
#include <thread>

namespace attune {
namespace {

std::atomic<uint64_t> epoch{1};
std::atomic<Reader*> readers{nullptr};

/// Issues a fence in every running thread of the process (membarrier(2)), so that readers need none. ThreadSanitizer
/// does not know it.
int membarrier(int command) noexcept {
#ifdef ATTUNE_SANITIZED
  static_cast<void>(command);
  return -1;
#else
  return static_cast<int>(::syscall(SYS_membarrier, command, 0, 0));
#endif
}

/// Whether wait_for_readers() issues the fences; else each reader does.
std::atomic<bool> fences_are_sent{false};

void register_for_fences() noexcept {
  fences_are_sent.store(membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0, std::memory_order_relaxed);
}

/// In a child of fork() the other threads are gone, even if they were reading.
void forget_readers() noexcept {
  for (Reader* one = readers.load(std::memory_order_acquire); one != nullptr; one = one->next)
    one->since.store(0, std::memory_order_relaxed);
  register_for_fences();
}

/// Records for threads that begin to read while memory is exhausted.
constexpr size_t kReserve = 64;
std::array<Reader, kReserve> reserve;
std::atomic<size_t> num_reserve_used{0};

/// Returns a record that is on no list; null: memory is exhausted, and so is the reserve.
Reader* new_reader() noexcept {
  if (auto* const made = new (std::nothrow) Reader) return made;
  size_t used = num_reserve_used.load(std::memory_order_relaxed);
  while (used < kReserve) {
    if (num_reserve_used.compare_exchange_weak(used, used + 1, std::memory_order_relaxed)) return &reserve[used];
  }
  return nullptr;
}

Reader& take_reader() noexcept {
  for (;;) {
    for (Reader* one = readers.load(std::memory_order_acquire); one != nullptr; one = one->next) {
      bool free = false;
      if (one->taken.compare_exchange_strong(free, true, std::memory_order_acquire)) return *one;
    }
    // Never freed, because a walk over all readers takes no lock.
    if (Reader* const fresh = new_reader()) {
      fresh->taken.store(true, std::memory_order_relaxed);
      fresh->next = readers.load(std::memory_order_relaxed);
      while (!readers.compare_exchange_weak(fresh->next, fresh, std::memory_order_release, std::memory_order_relaxed)) {
      }
      return *fresh;
    }
    std::this_thread::yield();  // Until another thread ends or frees memory.
  }
}

/// Returns the record when the thread ends.
struct ReaderClaim {
  Reader& reader = take_reader();
  ~ReaderClaim() { reader.taken.store(false, std::memory_order_release); }
};

Reader& this_reader() noexcept {
  thread_local ReaderClaim taken;
  return taken.reader;
}

}  // namespace

void prepare_read_guards() noexcept {
  static const int forking = [] {
    register_for_fences();
    return ::pthread_atfork(nullptr, nullptr, forget_readers);
  }();
  static_cast<void>(forking);
}

ReadGuard::ReadGuard() noexcept : reader_(this_reader()) {
  // This store comes before the loads that it guards: either wait_for_readers() sees this reader, or this reader sees
  // the new pointer. The processor may not keep that order by itself.
  // Acquire: a reader of the new epoch also sees the new pointer.
  const uint64_t now = epoch.load(std::memory_order_acquire);
  if (fences_are_sent.load(std::memory_order_relaxed)) {
    // Release: a thread that sees this store also sees the effects of this thread's earlier lookups.
    reader_.since.store(now, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    reader_.since.store(now, std::memory_order_seq_cst);
  }
}

bool wait_for_readers() noexcept {
  const uint64_t now = epoch.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (fences_are_sent.load(std::memory_order_relaxed) && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) {
    fences_are_sent = false;  // Forbidden since: readers issue fences from now on; current readers are unknown.
    return false;
  }
  for (Reader* one = readers.load(std::memory_order_acquire); one != nullptr; one = one->next) {
    for (;;) {
      const uint64_t since = one->since.load(std::memory_order_seq_cst);
      if (since == 0 || since >= now) break;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  return true;
}

}  // namespace attune
