// SPDX-License-Identifier: MIT
#include "dispatch/capture/shape_counters.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "dispatch/table/shape_hash.h"

namespace attune {
namespace {

using Word = std::atomic_ref<uint64_t>;

constexpr size_t kFirstSlots = 4096;  // 32 KiB of tags: a model's shapes fit into the first level.
constexpr size_t kGrowth = 8;         // A shape among a million is found in at most four cache lines.

/// Returns this thread's number, counted from 1.
uint32_t thread_number() noexcept {
  static std::atomic<uint32_t> last{0};
  thread_local constinit uint32_t own = 0;
  if (own == 0) own = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return own;
}

template <typename T>
T* zeroed(size_t count) noexcept {
  return static_cast<T*>(std::calloc(count, sizeof(T)));
}

}  // namespace

ShapeCounters::Level::~Level() {
  for (size_t slot = 0; tags != nullptr && entries != nullptr && slot < num_slots; ++slot) {
    if (tags[slot] != 0) std::free(entries[slot].values);
  }
  std::free(tags);
  std::free(entries);
  for (const auto& shard : calls) std::free(shard.load(std::memory_order_relaxed));
}

ShapeCounters::ShapeCounters(uint64_t max_shapes) : max_shapes_(max_shapes) {}

ShapeCounters::~ShapeCounters() { reset(); }

void ShapeCounters::reset() noexcept {
  for (auto& level : levels_) delete level.exchange(nullptr, std::memory_order_relaxed);
  num_shapes_.store(0, std::memory_order_relaxed);
}

ShapeCounters::Level* ShapeCounters::level(size_t number) noexcept {
  if (Level* known = levels_[number].load(std::memory_order_acquire)) return known;
  std::unique_ptr<Level> made(new (std::nothrow) Level);
  if (!made) return nullptr;
  made->num_slots = kFirstSlots;
  for (size_t i = 0; i < number; ++i) made->num_slots *= kGrowth;
  made->tags = zeroed<uint64_t>(made->num_slots);
  made->entries = zeroed<Entry>(made->num_slots);
  if (!made->tags || !made->entries) return nullptr;
  Level* other = nullptr;
  if (levels_[number].compare_exchange_strong(other, made.get(), std::memory_order_acq_rel)) return made.release();
  return other;  // Another thread was faster.
}

bool ShapeCounters::add_call(Level& level, size_t slot) noexcept {
  auto& shard = level.calls[thread_number() % kShards];
  uint64_t* calls = shard.load(std::memory_order_acquire);
  if (!calls) {
    uint64_t* made = zeroed<uint64_t>(level.num_slots);
    if (!made) return false;
    if (shard.compare_exchange_strong(calls, made, std::memory_order_acq_rel)) {
      calls = made;
    } else {
      std::free(made);
    }
  }
  Word(calls[slot]).fetch_add(1, std::memory_order_relaxed);
  return true;
}

/// Returns true if the slot holds this shape now; false if it holds another, or if the limit is reached (`dropped`).
/// Concurrent threads may exceed the limit by one shape each, for which there is room. Counting the shape before
/// claiming the slot could lose a call of a known shape to a thread that is about to give up its claim.
bool ShapeCounters::claim(Level& level, size_t slot, const ShapeCall& shape, bool& dropped) noexcept {
  const auto values = shape.key.values();
  auto* kept = num_shapes() < max_shapes_ ? zeroed<int64_t>(values.size()) : nullptr;
  if (kept == nullptr) {
    dropped = true;
    return false;
  }
  uint64_t other = 0;
  if (!Word(level.tags[slot]).compare_exchange_strong(other, shape.tag, std::memory_order_relaxed)) {
    std::free(kept);
    return other == shape.tag;
  }
  num_shapes_.fetch_add(1, std::memory_order_relaxed);
  std::copy(values.begin(), values.end(), kept);
  Entry& entry = level.entries[slot];
  entry.values = kept;
  entry.op = shape.key.op();
  entry.num_values = static_cast<uint16_t>(values.size());
  entry.threads = shape.threads;
  std::atomic_ref<uint8_t>(entry.complete).store(1, std::memory_order_release);
  return true;
}

ShapeCounters::CountStatus ShapeCounters::count_in(Level& level, const ShapeCall& shape, bool is_last) noexcept {
  const uint64_t tag = shape.tag;
  const size_t bucket = tag & (level.num_slots - 1) & ~(kBucket - 1);
  // The last level continues after a full bucket, so that only max_shapes_ limits it.
  const size_t num_tried = is_last ? level.num_slots : kBucket;
  for (size_t i = 0; i < num_tried; ++i) {
    const size_t slot = (bucket + i) & (level.num_slots - 1);
    const uint64_t there = Word(level.tags[slot]).load(std::memory_order_relaxed);
    if (there != tag && there != 0) continue;
    bool dropped = false;
    if (there == tag || claim(level, slot, shape, dropped))
      return add_call(level, slot) ? CountStatus::counted : CountStatus::dropped;
    if (dropped) return CountStatus::dropped;
  }
  return CountStatus::full;
}

bool ShapeCounters::count(const Key& key, uint16_t threads) noexcept {
  const KeyCodes* codes = codes_.find(key.op());
  if (codes == nullptr) return false;
  if (!codes->is_short(key)) {
    const auto shortened = codes->shorten(key);
    return shortened && count(*shortened, threads);
  }
  const uint64_t hash = codes->hash(key).low ^ threads * kSecrets[0];
  const ShapeCall shape{key, threads, hash == 0 ? 1 : hash};
  for (size_t i = 0; i < kLevels; ++i) {
    Level* here = level(i);
    if (!here) return false;
    const CountStatus found = count_in(*here, shape, i + 1 == kLevels);
    if (found != CountStatus::full) return found == CountStatus::counted;
  }
  return false;
}

void ShapeCounters::visit(const Visit& visit) const {
  for (const auto& pointer : levels_) {
    const Level* level = pointer.load(std::memory_order_acquire);
    if (!level) return;
    for (size_t slot = 0; slot < level->num_slots; ++slot) {
      if (Word(level->tags[slot]).load(std::memory_order_relaxed) == 0) continue;
      Entry& entry = level->entries[slot];
      if (std::atomic_ref<uint8_t>(entry.complete).load(std::memory_order_acquire) == 0) continue;
      uint64_t calls = 0;
      for (const auto& shard : level->calls) {
        if (uint64_t* own = shard.load(std::memory_order_acquire))
          calls += Word(own[slot]).load(std::memory_order_relaxed);
      }
      visit({Key(entry.op, {entry.values, entry.num_values}), entry.threads, calls, entry.list_status});
    }
  }
}

}  // namespace attune
