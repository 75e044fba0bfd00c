// SPDX-License-Identifier: MIT
#include "dispatch/read_guard.h"

#include <pthread.h>

#include <chrono>
#include <thread>

namespace attune {
namespace {

std::atomic<uint64_t> epoch{1};
std::atomic<Reader*> readers{nullptr};

/// In a child of fork() the other threads are gone, in the middle of what they read.
void forget_readers() noexcept {
  for (Reader* one = readers.load(std::memory_order_acquire); one != nullptr; one = one->next)
    one->since.store(0, std::memory_order_relaxed);
}

Reader& take_reader() noexcept {
  static const int forking = ::pthread_atfork(nullptr, nullptr, forget_readers);
  static_cast<void>(forking);
  for (Reader* one = readers.load(std::memory_order_acquire); one != nullptr; one = one->next) {
    bool free = false;
    if (one->taken.compare_exchange_strong(free, true, std::memory_order_acquire)) return *one;
  }
  auto* fresh = new Reader;  // Never freed: a walk over all readers takes no lock.
  fresh->taken.store(true, std::memory_order_relaxed);
  fresh->next = readers.load(std::memory_order_relaxed);
  while (!readers.compare_exchange_weak(fresh->next, fresh, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return *fresh;
}

/// Gives it back when the thread ends.
struct Taken {
  Reader& reader = take_reader();
  ~Taken() { reader.taken.store(false, std::memory_order_release); }
};

Reader& this_reader() noexcept {
  thread_local Taken taken;
  return taken.reader;
}

}  // namespace

ReadGuard::ReadGuard() noexcept : reader_(this_reader()) {
  // Sequentially consistent, like the load of the pointer after it and the swap of the pointer before
  // wait_for_readers() looks here: either it sees this reader, or this reader sees the new pointer.
  reader_.since.store(epoch.load(std::memory_order_relaxed), std::memory_order_seq_cst);
}

void wait_for_readers() noexcept {
  const uint64_t now = epoch.fetch_add(1, std::memory_order_seq_cst) + 1;
  for (Reader* one = readers.load(std::memory_order_acquire); one != nullptr; one = one->next) {
    for (;;) {
      const uint64_t since = one->since.load(std::memory_order_seq_cst);
      if (since == 0 || since >= now) break;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

}  // namespace attune
