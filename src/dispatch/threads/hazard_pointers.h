// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

namespace attune {

struct CachedPlan;

/// The plan that a thread got from a dispatcher last, so that it is not destroyed meanwhile. One for each thread and
/// dispatcher, on a cache line of its own; another's when the thread or the dispatcher has ended.
struct alignas(64) HazardPointer {
  std::atomic<uint64_t> holder{0};  ///< The dispatcher; 0: nobody's.
  std::atomic<const CachedPlan*> plan{nullptr};
  HazardPointer* next = nullptr;
};

/// A number that no other dispatcher of this process has or gets.
uint64_t new_hazard_owner() noexcept;

/// The calling thread's record of the dispatcher that it called last.
struct LastHazardPointer {
  uint64_t holder = 0;
  HazardPointer* hold = nullptr;
};
extern thread_local constinit LastHazardPointer last_hazard_pointer;
HazardPointer& find_or_take_hazard_pointer(uint64_t holder) noexcept;

/// The calling thread's record of a dispatcher; allocates at its first call. About 1 ns. What is stored into it must be
/// found under a ReadGuard, or by who makes plans.
inline HazardPointer& hazard_pointer(uint64_t holder) noexcept {
  return last_hazard_pointer.holder == holder ? *last_hazard_pointer.hold : find_or_take_hazard_pointer(holder);
}

/// Holds a plan until the calling thread's next call of this for the dispatcher, or until it ends.
inline void protect_plan(uint64_t holder, const CachedPlan* plan) noexcept {
  // Release: who sees another plan here may destroy this one, and this thread has done with it.
  hazard_pointer(holder).plan.store(plan, std::memory_order_release);
}

/// What the threads hold of a dispatcher, sorted. Looks at every thread's record.
std::vector<const CachedPlan*> protected_plans(uint64_t holder);

/// A dispatcher has ended: its records may be others'.
void forget_hazard_owner(uint64_t holder) noexcept;

}  // namespace attune
