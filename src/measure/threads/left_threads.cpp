// SPDX-License-Identifier: MIT
#include "measure/threads/left_threads.h"

namespace attune {

bool LeftThreads::leaves(const std::function<void()>& run) {
  constexpr int kMaxWaits = 40;  // of 5 ms
  if (threads_ == nullptr) return false;
  for (uint32_t i = 0; i < kMaxCharges; ++i) {
    if (i > 0) run();
    if (threads_->await_rest()) return false;
    int waits = 1;
    while (waits < kMaxWaits && !threads_->await_rest()) ++waits;
    if (waits == kMaxWaits) return true;
  }
  return true;
}

void LeftThreads::begin_turn() {
  if (left_by_ != 0 && threads_->await_rest()) left_by_ = 0;
}

LeftThreads::Verdict LeftThreads::end_turn(Slot slot) {
  Verdict verdict;
  if (threads_ == nullptr) return verdict;
  if (left_by_ == 0 && last_ != 0 && threads_->others_ran()) {
    left_by_ = last_;
    verdict.faulty = charge(last_);
  }
  verdict.is_void = left_by_ != 0;
  last_ = slot;
  if (left_by_ != 0 || !charges_.contains(slot)) return verdict;
  if (threads_->await_rest()) {
    charges_[slot] = 0;
  } else {
    left_by_ = slot;
    verdict.faulty = charge(slot);
  }
  return verdict;
}

void LeftThreads::end_schedule(std::span<const Turn> schedule) {
  last_ = 0;
  if (threads_ == nullptr || !threads_->others_ran()) return;
  for (const Turn& turn : schedule) charges_.try_emplace(turn.slot, 0);
}

Outcome LeftThreads::outcome() {
  return {.status = Status::implausible_time,
          .detail =
              "its threads still ran when its calls had returned and the time to rest was over: its time is not all "
              "that it takes, and others are slowed"};
}

Slot LeftThreads::charge(Slot slot) { return ++charges_[slot] >= kMaxCharges ? slot : 0; }

}  // namespace attune
