// SPDX-License-Identifier: MIT
#include "dispatch/threads/library_use.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "base/error.h"

namespace attune {
namespace {

constexpr uint32_t kForking = 1, kEnding = 2;
constexpr std::chrono::seconds kMaxWait(10);  ///< Allows a library to finish a long product.
constexpr std::chrono::seconds kParked(2);    ///< Longer than the end of most processes takes.

/// Number of threads inside, split into parts on separate cache lines.
struct alignas(64) Part {
  std::atomic<int32_t> num_inside{0};
};
std::array<Part, 32> parts;
std::atomic<uint32_t> next_part{0};
std::atomic<uint32_t> closed{0};  ///< kForking, kEnding or both.

struct ThreadUse {
  uint32_t depth = 0;
  Part* part = nullptr;
  bool ends_process = false, was_parked = false;
};
constinit thread_local ThreadUse here;

bool all_are_out() noexcept {
  int32_t sum = here.depth > 0 ? -1 : 0;
  for (const Part& part : parts) sum += part.num_inside.load(std::memory_order_seq_cst);
  return sum <= 0;
}

void wait_for_all() noexcept {
  const auto end = std::chrono::steady_clock::now() + kMaxWait;
  while (!all_are_out() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
}

/// Returns when the thread may try again.
void wait_outside(uint32_t seen) {
  if ((seen & kEnding) == 0) {
    closed.wait(seen, std::memory_order_relaxed);
    return;
  }
  if (!here.was_parked) std::this_thread::sleep_for(kParked);
  here.was_parked = true;
  fail(ErrorCode::unavailable, "the process is exiting, calls are refused");
}

}  // namespace

void LibraryUse::enter() {
  if (here.depth > 0) {
    ++here.depth;
    return;
  }
  if (here.part == nullptr) here.part = &parts[next_part.fetch_add(1, std::memory_order_relaxed) % parts.size()];
  for (;;) {
    // Increment before reading `closed`: either this thread sees the closing one, or the closing thread sees this one.
    here.part->num_inside.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t seen = closed.load(std::memory_order_seq_cst);
    if (seen == 0 || here.ends_process) break;
    here.part->num_inside.fetch_sub(1, std::memory_order_seq_cst);
    wait_outside(seen);
  }
  here.depth = 1;
}

void LibraryUse::leave() noexcept {
  if (--here.depth == 0) here.part->num_inside.fetch_sub(1, std::memory_order_release);
}

void LibraryUse::close_for_fork() noexcept {
  closed.fetch_or(kForking, std::memory_order_seq_cst);
  wait_for_all();
}

void LibraryUse::open_after_fork() noexcept {
  closed.fetch_and(~kForking, std::memory_order_seq_cst);
  closed.notify_all();
}

void LibraryUse::open_in_child() noexcept {
  for (Part& part : parts) part.num_inside.store(0, std::memory_order_relaxed);
  if (here.depth > 0) here.part->num_inside.store(1, std::memory_order_relaxed);
  // Another thread may have been ending the parent; the child does not have that thread.
  if (!here.ends_process) closed.fetch_and(~kEnding, std::memory_order_seq_cst);
  open_after_fork();
}

void LibraryUse::close_for_exit() noexcept {
  if ((closed.fetch_or(kEnding, std::memory_order_seq_cst) & kEnding) != 0) return;
  here.ends_process = true;
  wait_for_all();
}

void LibraryUse::close_at_exit() noexcept {
  // on_exit() and not atexit(), which api/shared/no_destructors.cpp keeps out of the library.
  ::on_exit([](int, void*) { LibraryUse::close_for_exit(); }, nullptr);
}

}  // namespace attune
