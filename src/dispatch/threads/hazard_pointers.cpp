// SPDX-License-Identifier: MIT
#include "dispatch/threads/hazard_pointers.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <functional>
#include <new>
#include <thread>

namespace attune {

thread_local constinit LastHazardPointer last_hazard_pointer;

namespace {

std::atomic<HazardPointer*> holds{nullptr};

/// Does nothing if the record has another owner by now. The thread and the dispatcher may end at the same time.
void release(HazardPointer& hold, uint64_t holder) noexcept {
  constexpr uint64_t kReleasing = ~uint64_t{0};
  if (!hold.holder.compare_exchange_strong(holder, kReleasing, std::memory_order_acquire)) return;
  hold.plan.store(nullptr, std::memory_order_release);
  hold.holder.store(0, std::memory_order_release);
}

/// The records of this thread.
struct ThreadHazards {
  std::vector<LastHazardPointer> all;
  ~ThreadHazards();
};
thread_local ThreadHazards thread_hazards;
thread_local constinit bool is_ended = false;  // Still readable when destructors of other thread_locals make lookups.

ThreadHazards::~ThreadHazards() {
  is_ended = true;
  for (const LastHazardPointer& one : all) release(*one.hold, one.holder);
  last_hazard_pointer = {};
}

/// In a child of fork() the other threads are gone, so their plans are no longer protected.
void forget_other_threads() noexcept {
  for (HazardPointer* one = holds.load(std::memory_order_acquire); one != nullptr; one = one->next) {
    const bool is_mine = one == last_hazard_pointer.hold ||
                         (!is_ended && std::any_of(thread_hazards.all.begin(), thread_hazards.all.end(),
                                                   [&](const LastHazardPointer& other) { return other.hold == one; }));
    if (is_mine) continue;
    one->plan.store(nullptr, std::memory_order_relaxed);
    one->holder.store(0, std::memory_order_relaxed);
  }
}

/// Records for threads whose first lookup comes while memory is exhausted.
constexpr size_t kReserve = 64;
std::array<HazardPointer, kReserve> reserve;
std::atomic<size_t> num_reserve_used{0};

/// Returns a record that is on no list; null: memory is exhausted, and so is the reserve.
HazardPointer* new_record() noexcept {
  if (auto* const made = new (std::nothrow) HazardPointer) return made;
  size_t used = num_reserve_used.load(std::memory_order_relaxed);
  while (used < kReserve) {
    if (num_reserve_used.compare_exchange_weak(used, used + 1, std::memory_order_relaxed)) return &reserve[used];
  }
  return nullptr;
}

HazardPointer& take_hold(uint64_t holder) noexcept {
  for (HazardPointer* one = holds.load(std::memory_order_acquire); one != nullptr; one = one->next) {
    uint64_t nobody = 0;
    if (one->holder.load(std::memory_order_relaxed) == 0 &&
        one->holder.compare_exchange_strong(nobody, holder, std::memory_order_acquire))
      return *one;
  }
  // Never freed, because a walk over all records takes no lock. A thread's first lookup cannot continue without it.
  HazardPointer* fresh = new_record();
  for (; fresh == nullptr; fresh = new_record()) std::this_thread::yield();  // Until another thread frees memory.
  fresh->holder.store(holder, std::memory_order_relaxed);
  fresh->next = holds.load(std::memory_order_relaxed);
  while (!holds.compare_exchange_weak(fresh->next, fresh, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return *fresh;
}

}  // namespace

uint64_t new_hazard_owner() noexcept {
  static const int forking = ::pthread_atfork(nullptr, nullptr, forget_other_threads);
  static_cast<void>(forking);
  static std::atomic<uint64_t> number{0};
  return ++number;
}

/// Slow path: the dispatcher is not the one that this thread called last.
HazardPointer& find_or_take_hazard_pointer(uint64_t holder) noexcept {
  if (is_ended) {
    // A destructor of another thread_local makes lookups. The record is never released, so one plan stays protected.
    last_hazard_pointer = {holder, &take_hold(holder)};
    return *last_hazard_pointer.hold;
  }
  const auto found = std::find_if(thread_hazards.all.begin(), thread_hazards.all.end(),
                                  [&](const LastHazardPointer& one) { return one.holder == holder; });
  if (found != thread_hazards.all.end()) {
    last_hazard_pointer = *found;
    return *last_hazard_pointer.hold;
  }
  std::erase_if(thread_hazards.all, [](const LastHazardPointer& one) {
    return one.hold->holder.load(std::memory_order_relaxed) != one.holder;  // Its dispatcher has ended.
  });
  last_hazard_pointer = {holder, &take_hold(holder)};
  try {
    thread_hazards.all.push_back(last_hazard_pointer);
  } catch (...) {
    // Without memory the record is released at the dispatcher's end, and not at the thread's.
  }
  return *last_hazard_pointer.hold;
}

std::vector<const CachedPlan*> protected_plans(uint64_t holder) {
  std::vector<const CachedPlan*> held;
  for (HazardPointer* one = holds.load(std::memory_order_acquire); one != nullptr; one = one->next) {
    if (one->holder.load(std::memory_order_acquire) != holder) continue;
    if (const CachedPlan* plan = one->plan.load(std::memory_order_acquire)) held.push_back(plan);
  }
  std::sort(held.begin(), held.end(), std::less<>());
  return held;
}

void forget_hazard_owner(uint64_t holder) noexcept {
  for (HazardPointer* one = holds.load(std::memory_order_acquire); one != nullptr; one = one->next)
    release(*one, holder);
}

}  // namespace attune
