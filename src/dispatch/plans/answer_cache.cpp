// SPDX-License-Identifier: MIT
#include "dispatch/plans/answer_cache.h"

#include <algorithm>
#include <bit>

namespace attune {
namespace {
constexpr size_t kMinPlaces = 64;
}

// Sequentially consistent, because wait_for_readers() requires this of pointers changed before it: lookups that it does
// not wait for see the new pointer.
std::atomic<const CachedAnswer*>& AnswerCache::Places::of(const ProblemKey& hash) noexcept {
  for (size_t at = hash.low & mask;; at = (at + 1) & mask) {
    const CachedAnswer* there = places[at].load();
    if (there == nullptr || there->hash == hash) return places[at];
  }
}

AnswerCache::AnswerCache() : owned_(std::make_unique<Places>(kMinPlaces)) { current_ = owned_.get(); }

AnswerCache::~AnswerCache() {
  for (const auto& place : owned_->places) delete place.load();
}

const CachedAnswer* AnswerCache::find(const ProblemKey& hash) const noexcept {
  const Places& now = *current_.load();
  // Return the loaded pointer: a place that was empty may hold another problem's answer a moment later.
  for (size_t at = hash.low & now.mask;; at = (at + 1) & now.mask) {
    const CachedAnswer* there = now.places[at].load();
    if (there == nullptr || there->hash == hash) return there;
  }
}

void AnswerCache::put(CachedAnswer served) {
  const Lock lock(mutex_);
  served.number = ++num_put_;
  std::atomic<const CachedAnswer*>* place = &owned_->of(served.hash);
  if (place->load() == nullptr && 2 * (size_ + 1) > owned_->places.size()) {
    // Readers of the old table still find all answers but the newest.
    auto larger = std::make_unique<Places>(2 * owned_->places.size());
    for (const auto& one : owned_->places) {
      if (const CachedAnswer* there = one.load()) larger->of(there->hash) = there;
    }
    move_to(std::move(larger));
    place = &owned_->of(served.hash);
  }
  replaced_.reserve(replaced_.size() + 1);  // A failing push_back() would free an answer that readers see.
  auto fresh = std::make_unique<CachedAnswer>(served);
  if (served.plan == nullptr) ++num_without_plan_;
  std::unique_ptr<const CachedAnswer> old(place->exchange(fresh.release()));
  if (!old) {
    ++size_;
    return;
  }
  if (old->plan == nullptr) --num_without_plan_;
  replaced_.push_back(std::move(old));
}

void AnswerCache::withdraw(const ProblemKey& hash, const CachedPlan& plan) {
  const CachedAnswer* there = find(hash);
  if (there == nullptr || there->plan != &plan) return;
  CachedAnswer left = *there;
  left.hit = {};
  left.plan = nullptr;
  left.has_left = true;
  put(left);
}

void AnswerCache::bound_without_plan(size_t max) {
  const Lock lock(mutex_);
  if (num_without_plan_ <= max) return;
  std::vector<uint64_t> numbers;
  for (const auto& place : owned_->places) {
    if (const CachedAnswer* there = place.load(); there != nullptr && there->plan == nullptr)
      numbers.push_back(there->number);
  }
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  const size_t num_left = size_ - numbers.size() / 2;
  // A place cannot be emptied: lookups would no longer find the entries probed after it.
  auto smaller = std::make_unique<Places>(std::max(kMinPlaces, std::bit_ceil(2 * num_left + 2)));
  replaced_.reserve(replaced_.size() + numbers.size());
  old_places_.reserve(old_places_.size() + 1);
  for (const auto& place : owned_->places) {
    const CachedAnswer* there = place.load();
    if (there == nullptr) continue;
    if (there->plan == nullptr && there->number < *middle) {
      replaced_.emplace_back(there);
      --num_without_plan_;
      --size_;
    } else {
      smaller->of(there->hash) = there;
    }
  }
  move_to(std::move(smaller));
}

void AnswerCache::move_to(std::unique_ptr<Places> places) {
  current_ = places.get();
  old_places_.push_back(std::move(owned_));
  owned_ = std::move(places);
}

size_t AnswerCache::size() const {
  const Lock lock(mutex_);
  return size_;
}

std::vector<CachedAnswer> AnswerCache::all() const {
  const Lock lock(mutex_);
  std::vector<CachedAnswer> all;
  for (const auto& place : owned_->places) {
    if (const CachedAnswer* there = place.load()) all.push_back(*there);
  }
  return all;
}

size_t AnswerCache::num_replaced() const {
  const Lock lock(mutex_);
  return replaced_.size();
}

void AnswerCache::free_replaced() {
  const Lock lock(mutex_);
  replaced_.clear();
  old_places_.clear();
}

}  // namespace attune
