// SPDX-License-Identifier: MIT
#include "dispatch/plans/plan_cache.h"

#include <algorithm>
#include <iterator>

#include "dispatch/threads/hazard_pointers.h"

namespace attune {

CachedPlan* PlanCache::find(const Name& name) const {
  const auto found = kept_.find(name);
  return found == kept_.end() ? nullptr : found->second.get();
}

CachedPlan* PlanCache::insert(const Name& name, std::unique_ptr<Plan> plan, bool drifted, uint8_t layout) {
  const uint64_t stated = plan->traits().host_bytes;
  auto made = std::make_unique<CachedPlan>();
  made->plan = std::move(plan);
  made->bytes = (stated == 0 ? kUnstatedBytes : stated) + kOverheadBytes;
  made->drifted = drifted;
  made->layout = layout;
  made->device_bytes = made->plan->traits().device_bytes;
  made->is_kept = made->bytes <= max_bytes_ && made->device_bytes <= max_device_bytes_;
  made->last_use = time_.fetch_add(1, std::memory_order_relaxed) + 1;
  CachedPlan* const there = made.get();
  if (there->is_kept) {
    kept_.emplace(name, std::move(made));
    bytes_ += there->bytes;
    device_bytes_ += there->device_bytes;
  } else {
    left_.push_back(std::move(made));  // No lookup can find it.
    bytes_left_ += there->bytes;
    ++counts_.evicted;
    note_too_large(*there);
  }
  count();
  return there;
}

/// A plan that exceeds a bound alone counts once, however often it is made.
void PlanCache::note_too_large(const CachedPlan& plan) noexcept {
  if (plan.bytes > max_bytes_ && counts_.limit_reached == 0) ++counts_.limit_reached;
  if (plan.device_bytes > max_device_bytes_ && counts_.device_limit_reached == 0) ++counts_.device_limit_reached;
}

void PlanCache::evict(PlanMap::iterator one, const Withdraw& withdraw) {
  CachedPlan& gone = *one->second;
  gone.is_kept = false;
  withdraw(gone);
  bytes_ -= gone.bytes;
  bytes_left_ += gone.bytes;
  device_bytes_ -= gone.device_bytes;
  ++counts_.evicted;
  leaving_.push_back(std::move(one->second));
  kept_.erase(one);
}

void PlanCache::evict_all(const Withdraw& withdraw) {
  while (!kept_.empty()) evict(kept_.begin(), withdraw);
  count();
}

void PlanCache::shrink(const Withdraw& withdraw) {
  if (!is_over()) return;
  if (bytes_ > max_bytes_) ++counts_.limit_reached;
  if (device_bytes_ > max_device_bytes_) ++counts_.device_limit_reached;
  // Evict many at once: sorting all plans for each new one would cost more than making it.
  constexpr uint64_t kShareFreed = 8;
  const auto all_but_a_share = [](uint64_t bound) { return bound - bound / kShareFreed; };
  const bool frees_host = bytes_ > max_bytes_, frees_device = device_bytes_ > max_device_bytes_;
  const auto is_host_done = [&] { return !frees_host || bytes_ <= all_but_a_share(max_bytes_); };
  const auto is_device_done = [&] { return !frees_device || device_bytes_ <= all_but_a_share(max_device_bytes_); };
  std::vector<std::pair<uint64_t, PlanMap::iterator>> by_use;
  by_use.reserve(kept_.size());
  for (auto one = kept_.begin(); one != kept_.end(); ++one)
    by_use.emplace_back(one->second->last_use.load(std::memory_order_relaxed), one);
  std::sort(by_use.begin(), by_use.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [last_use, one] : by_use) {
    if (is_host_done() && (is_device_done() || one->second->device_bytes == 0)) continue;
    evict(one, withdraw);
  }
  count();
}

void PlanCache::free_unreferenced(bool is_grace_over) {
  // The holders of these plans are known only once every lookup that found one has announced it.
  if (is_grace_over) {
    std::move(leaving_.begin(), leaving_.end(), std::back_inserter(left_));
    leaving_.clear();
  }
  if (left_.empty()) return;
  const std::vector<const CachedPlan*> held = protected_plans(holder_);
  // On a host the work of a plan is done when run() returns; a plan of a device with streams waits for it when it ends.
  std::erase_if(left_, [&](const std::unique_ptr<CachedPlan>& one) {
    if (std::binary_search(held.begin(), held.end(), one.get())) return false;
    bytes_left_ -= one->bytes;
    return true;
  });
  count();
}

void PlanCache::count() noexcept {
  counts_.plans = kept_.size();
  counts_.bytes = bytes_ + bytes_left_;
}

}  // namespace attune
