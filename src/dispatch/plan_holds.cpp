// SPDX-License-Identifier: MIT
#include "dispatch/plan_holds.h"

#include <pthread.h>

#include <algorithm>
#include <functional>

namespace attune {

thread_local constinit LastPlanHold last_plan_hold;

namespace {

std::atomic<PlanHold*> holds{nullptr};

/// Does nothing to a record that is another's since. The thread and the dispatcher may end at the same time.
void release(PlanHold& hold, uint64_t holder) noexcept {
  constexpr uint64_t kReleasing = ~uint64_t{0};
  if (!hold.holder.compare_exchange_strong(holder, kReleasing, std::memory_order_acquire)) return;
  hold.plan.store(nullptr, std::memory_order_release);
  hold.holder.store(0, std::memory_order_release);
}

/// What this thread has taken.
struct Taken {
  std::vector<LastPlanHold> all;
  ~Taken();
};
thread_local Taken taken;
thread_local constinit bool is_ended = false;  // Readable when destructors of other thread_locals look shapes up.

Taken::~Taken() {
  is_ended = true;
  for (const LastPlanHold& one : all) release(*one.hold, one.holder);
  last_plan_hold = {};
}

/// In a child of fork() the other threads are gone, and what they hold is held by nobody.
void forget_other_threads() noexcept {
  for (PlanHold* one = holds.load(std::memory_order_acquire); one != nullptr; one = one->next) {
    const bool is_mine = one == last_plan_hold.hold ||
                         (!is_ended && std::any_of(taken.all.begin(), taken.all.end(),
                                                   [&](const LastPlanHold& other) { return other.hold == one; }));
    if (is_mine) continue;
    one->plan.store(nullptr, std::memory_order_relaxed);
    one->holder.store(0, std::memory_order_relaxed);
  }
}

PlanHold& take_hold(uint64_t holder) noexcept {
  for (PlanHold* one = holds.load(std::memory_order_acquire); one != nullptr; one = one->next) {
    uint64_t nobody = 0;
    if (one->holder.load(std::memory_order_relaxed) == 0 &&
        one->holder.compare_exchange_strong(nobody, holder, std::memory_order_acquire))
      return *one;
  }
  // Never freed: a walk over all takes no lock. A thread's first lookup cannot go on without it.
  auto* fresh = new PlanHold;  // NOLINT(bugprone-unhandled-exception-at-new)
  fresh->holder.store(holder, std::memory_order_relaxed);
  fresh->next = holds.load(std::memory_order_relaxed);
  while (!holds.compare_exchange_weak(fresh->next, fresh, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return *fresh;
}

}  // namespace

uint64_t new_plan_holder() noexcept {
  static const int forking = ::pthread_atfork(nullptr, nullptr, forget_other_threads);
  static_cast<void>(forking);
  static std::atomic<uint64_t> number{0};
  return ++number;
}

/// Not this thread's last dispatcher.
PlanHold& find_or_take_plan_hold(uint64_t holder) noexcept {
  if (is_ended) {
    // A destructor of another thread_local looks shapes up: nothing gives the record back, and one plan stays.
    last_plan_hold = {holder, &take_hold(holder)};
    return *last_plan_hold.hold;
  }
  const auto found =
      std::find_if(taken.all.begin(), taken.all.end(), [&](const LastPlanHold& one) { return one.holder == holder; });
  if (found != taken.all.end()) {
    last_plan_hold = *found;
    return *last_plan_hold.hold;
  }
  std::erase_if(taken.all, [](const LastPlanHold& one) {
    return one.hold->holder.load(std::memory_order_relaxed) != one.holder;  // Its dispatcher has ended.
  });
  last_plan_hold = {holder, &take_hold(holder)};
  taken.all.push_back(last_plan_hold);
  return *last_plan_hold.hold;
}

std::vector<const CachedPlan*> held_plans(uint64_t holder) {
  std::vector<const CachedPlan*> held;
  for (PlanHold* one = holds.load(std::memory_order_acquire); one != nullptr; one = one->next) {
    if (one->holder.load(std::memory_order_acquire) != holder) continue;
    if (const CachedPlan* plan = one->plan.load(std::memory_order_acquire)) held.push_back(plan);
  }
  std::sort(held.begin(), held.end(), std::less<>());
  return held;
}

void forget_plan_holder(uint64_t holder) noexcept {
  for (PlanHold* one = holds.load(std::memory_order_acquire); one != nullptr; one = one->next) release(*one, holder);
}

}  // namespace attune
