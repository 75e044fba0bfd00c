// SPDX-License-Identifier: MIT
// Withdraws answers whose plans leave the PlanCache, which enforces the bound.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "dispatch/plan_service.h"
#include "dispatch/threads/read_guard.h"

namespace attune {

/// `before`: the previous answer to the problem, or null.
CachedAnswer PlanService::served_with(const Snapshot& tables, const Resolution& made, const LookupRequest& request,
                                      const CachedAnswer* before) {
  CachedAnswer served{.hash = hash_of(request),
                      .hit = made.hit,
                      .layouts = request.layouts,
                      .key = request.key,
                      .operands = made.operands};
  if (before != nullptr) {
    served.was_served = before->was_served;
    served.was_missed = before->was_missed;
    served.was_predicted = before->was_predicted;
  }
  if (made.plan == nullptr) return served;
  if (held_) note_answer(tables, made, request);
  served.plan = made.plan;
  served.was_missed = missed_.note(codes(request.key), rows_of(tables, request.key), request, before, served);
  served.was_served = true;
  served.was_predicted = made.hit.match == Match::predicted;
  if (made.plan->is_kept) {
    std::vector<ProblemKey>& answers = made.plan->answers;
    if (std::find(answers.begin(), answers.end(), served.hash) == answers.end()) answers.push_back(served.hash);
  } else {
    served.hit.plan = nullptr;
    served.plan = nullptr;
  }
  return served;
}

/// Says each limit that was reached, once.
void PlanService::say_limits() {
  const PlanCache::Counts& counts = plans_.counts();
  if (options_.max_plan_bytes > 0 && counts.limit_reached > 0 && !std::exchange(is_limit_said_, true)) {
    log_.say_always(fmt::format(
        "plans exceed the limit of {} MB, the least recently used are evicted and made again when called: raise "
        "ATTUNE_MAX_PLAN_BYTES",
        options_.max_plan_bytes >> 20));
  }
  if (counts.device_limit_reached > 0 && !std::exchange(is_device_limit_said_, true)) {
    log_.say_always(
        "the workspaces of plans exceed an eighth of the device's memory, the least recently used plans are evicted "
        "and made again when called");
  }
}

/// Whether a wait for the device ends no capture.
bool PlanService::may_wait() const noexcept {
  if (captured_.any()) return false;
  return !first().maker.graph_holds().may_be_capturing();
}

void PlanService::withdraw(const CachedPlan& gone) {
  for (const ProblemKey& hash : gone.answers) {
    for (const auto& device : owned_devices_) device->now.load()->served.withdraw(hash, gone);
  }
}

/// Memory of the device that this holds and release_memory() may free.
uint64_t PlanService::held_bytes() const {
  if (is_host_) return plans_.counts().bytes;
  uint64_t sum = 0;
  for (const auto& device : owned_devices_) sum += device->maker.workspace_bytes();
  return sum;
}

uint64_t PlanService::release_memory() {
  const Lock lock(guard_);
  const auto exemption = first().maker.exempt();
  if (!may_wait()) return 0;  // Evicted plans would stay, and new ones would be made beside them.
  const uint64_t before = held_bytes();
  protect_plan(plans_.holder(), nullptr);
  plans_.evict_all([&](const CachedPlan& gone) ATTUNE_REQUIRES(guard_) { withdraw(gone); });
  // A shape may have been refused for lack of memory.
  for (const auto& device : owned_devices_) device->refusals.clear();
  make_room();
  const uint64_t after = held_bytes();
  return before > after ? before - after : 0;  // Other threads may have added workspaces.
}

void PlanService::make_room(Snapshot* coming) {
  constexpr size_t kMaxWithoutPlan = 65536, kMaxReplaced = 1024;
  const auto exemption = first().maker.exempt();
  plans_.shrink([&](const CachedPlan& gone) ATTUNE_REQUIRES(guard_) {
    withdraw(gone);
    if (coming == nullptr) return;
    for (const ProblemKey& hash : gone.answers) coming->served.withdraw(hash, gone);
  });
  say_limits();
  const bool may_end_plans = may_wait();
  bool is_grace_due = may_end_plans && plans_.is_grace_due();
  for (const auto& device : owned_devices_) {
    AnswerCache& served = device->now.load()->served;
    served.bound_without_plan(kMaxWithoutPlan);
    is_grace_due = is_grace_due || served.num_replaced() > kMaxReplaced;
  }
  const bool is_grace_over = is_grace_due && wait_for_readers();
  if (is_grace_over) {
    for (const auto& device : owned_devices_) device->now.load()->served.free_replaced();
  }
  if (!may_end_plans) return;
  plans_.free_unreferenced(is_grace_over);
  for (const auto& device : owned_devices_) device->maker.graph_holds().free_ended();
}

/// Carries answers over to the new tables, most recently used first, as long as their plans fit into the bound beside
/// the old ones. The rest is answered at the next call.
void PlanService::serve_again(ThreadLimitedDevice& device, Snapshot& fresh) {
  std::vector<std::pair<uint64_t, CachedAnswer>> by_use;
  for (const CachedAnswer& one : device.now.load()->served.all())
    by_use.emplace_back(one.plan == nullptr ? 0 : one.plan->last_use.load(std::memory_order_relaxed), one);
  std::sort(by_use.begin(), by_use.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  uint64_t num_bytes = 0, num_device_bytes = 0;
  for (const auto& [last_use, served] : by_use) {
    const LookupRequest request{served.key, served.layouts, device.units};
    CachedAnswer again = served;
    again.hit = {};
    again.plan = nullptr;
    again.has_left = true;
    if (served.has_left || plans_.is_mostly_full(num_bytes, num_device_bytes)) {
      if (served.was_served) fresh.served.put(again);
      continue;
    }
    try {
      const uint64_t began = plans_.time();
      const Resolution made = make(device, fresh, request);
      if (made.plan == nullptr) continue;
      // A plan made for a changed row takes over the time of use of its shape.
      if (made.plan->last_use > began) made.plan->last_use = last_use;
      if (made.plan->is_kept) {
        again = served_with(fresh, made, request, &served);
        num_bytes += made.plan->bytes;
        num_device_bytes += made.plan->device_bytes;
      }
      fresh.served.put(again);
      want_compiled(request, made);
      make_room(&fresh);
    } catch (const Error&) {
      // It had no plan before either; the error is reported when the shape is called again.
    }
  }
}

}  // namespace attune
