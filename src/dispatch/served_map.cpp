// SPDX-License-Identifier: MIT
#include "dispatch/served_map.h"

#include <algorithm>

namespace attune {
namespace {
constexpr size_t kFewest = 64;
}

std::atomic<const Served*>& ServedMap::Places::of(const ProblemKey& hash) noexcept {
  for (size_t at = hash.low & mask;; at = (at + 1) & mask) {
    const Served* there = places[at].load(std::memory_order_acquire);
    if (there == nullptr || there->hash == hash) return places[at];
  }
}

ServedMap::ServedMap() {
  generations_.push_back(std::make_unique<Places>(kFewest));
  current_.store(generations_.back().get(), std::memory_order_release);
}

const Served* ServedMap::find(const ProblemKey& hash) const noexcept {
  return current_.load(std::memory_order_acquire)->of(hash).load(std::memory_order_acquire);
}

void ServedMap::put(const Served& served) {
  const std::lock_guard lock(mutex_);
  Places* places = generations_.back().get();
  answers_.push_back(std::make_unique<const Served>(served));
  const Served* const fresh = answers_.back().get();
  std::atomic<const Served*>* place = &places->of(served.hash);
  if (const Served* old = place->load(std::memory_order_relaxed)) {
    *std::find(in_force_.begin(), in_force_.end(), old) = fresh;
  } else {
    in_force_.push_back(fresh);
    if (2 * in_force_.size() > places->places.size()) {
      // Readers of the old ones still find all but the newest.
      auto larger = std::make_unique<Places>(2 * places->places.size());
      for (const Served* one : in_force_) larger->of(one->hash).store(one, std::memory_order_relaxed);
      current_.store(larger.get(), std::memory_order_release);
      generations_.push_back(std::move(larger));
      return;
    }
  }
  place->store(fresh, std::memory_order_release);
}

size_t ServedMap::size() const {
  const std::lock_guard lock(mutex_);
  return in_force_.size();
}

std::vector<Served> ServedMap::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<Served> all;
  for (const Served* one : in_force_) all.push_back(*one);
  return all;
}

}  // namespace attune
