// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

namespace attune {

struct CachedPlan;

/// The plan that a thread last got from a dispatcher, protected from destruction. There is one for each thread and
/// dispatcher, on its own cache line; it is reused after the thread or the dispatcher has ended.
struct alignas(64) HazardPointer {
  std::atomic<uint64_t> holder{0};  ///< Number of the dispatcher; 0: unused.
  std::atomic<const CachedPlan*> plan{nullptr};
  HazardPointer* next = nullptr;
};

/// Returns a number that is unique among the dispatchers of this process.
uint64_t new_hazard_owner() noexcept;

/// The calling thread's hazard pointer of the dispatcher that it called last.
struct LastHazardPointer {
  uint64_t holder = 0;
  HazardPointer* hold = nullptr;
};
extern thread_local constinit LastHazardPointer last_hazard_pointer;
HazardPointer& find_or_take_hazard_pointer(uint64_t holder) noexcept;

/// Returns the calling thread's hazard pointer of a dispatcher; the first call allocates it. About 1 ns. A plan stored
/// into it must be found under a ReadGuard, or by the thread that makes plans.
inline HazardPointer& hazard_pointer(uint64_t holder) noexcept {
  return last_hazard_pointer.holder == holder ? *last_hazard_pointer.hold : find_or_take_hazard_pointer(holder);
}

/// Protects a plan until the calling thread protects another plan of the dispatcher, or ends.
inline void protect_plan(uint64_t holder, const CachedPlan* plan) noexcept {
  // Release: a thread that sees the new plan here may destroy the old one, so this thread's uses of it come before.
  hazard_pointer(holder).plan.store(plan, std::memory_order_release);
}

/// Returns the protected plans of a dispatcher, sorted. Reads the records of all threads.
std::vector<const CachedPlan*> protected_plans(uint64_t holder);

/// Releases the hazard pointers of a dispatcher that has ended.
void forget_hazard_owner(uint64_t holder) noexcept;

}  // namespace attune
