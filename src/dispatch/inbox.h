// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <semaphore>
#include <vector>

#include "attune/problem.h"
#include "dispatch/table/weights_layouts.h"

namespace attune {

/// Passes shapes that have no ready answer from lookups to the dispatcher's thread. A pending shape is not posted
/// twice; a shape that finds no free slot is posted by a later lookup.
class Inbox {
 public:
  /// Posts a request and wakes the receiving thread. Thread-safe, lock-free, no allocation.
  void post(const LookupRequest& request, const ProblemKey& hash) noexcept {
    Slot& slot = slots_[hash.low % kSlots];
    State empty = State::empty;
    if (slot.state.load(std::memory_order_relaxed) != State::empty) return;
    if (!slot.state.compare_exchange_strong(empty, State::filling, std::memory_order_acquire)) return;
    slot.request = request;
    slot.state.store(State::full, std::memory_order_release);
    news_.release();
  }
  /// Wakes the receiving thread without a request.
  void wake() noexcept { news_.release(); }
  /// Sleeps until something is posted or wake() is called, for at most `timeout`.
  void wait(std::chrono::milliseconds timeout) {
    if (!news_.try_acquire_for(timeout)) return;
    while (news_.try_acquire()) continue;
  }
  /// Returns the posted requests; each keeps its slot until done(). Only the receiving thread calls this.
  struct Item {
    LookupRequest request;
    size_t place = 0;
  };
  std::vector<Item> take() {
    std::vector<Item> posted;
    for (size_t i = 0; i < kSlots; ++i) {
      if (slots_[i].state.load(std::memory_order_acquire) != State::full) continue;
      posted.push_back({slots_[i].request, i});
      slots_[i].state.store(State::taken, std::memory_order_relaxed);
    }
    return posted;
  }
  void done(const Item& item) noexcept { slots_[item.place].state.store(State::empty, std::memory_order_release); }

 private:
  static constexpr size_t kSlots = 256;
  enum class State : uint8_t { empty, filling, full, taken };
  struct Slot {
    std::atomic<State> state{State::empty};
    LookupRequest request;
  };
  std::array<Slot, kSlots> slots_;
  std::counting_semaphore<> news_{0};
};

}  // namespace attune
