// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <thread>

#include "attune/problem.h"

namespace attune {

/// Calls whose stream is being captured: those that run now, their waits for kernels, and the launches that keep a
/// default kernel. Functions without a lock of their own say so; the others are called under the dispatcher's
/// ForkGuard.
class CapturedCalls {
 public:
  using Clock = std::chrono::steady_clock;
  explicit CapturedCalls(std::chrono::milliseconds max_wait)
      : max_wait_(std::min<std::chrono::milliseconds>(max_wait, std::chrono::hours(24))) {}

  /// Counts a call while it lives. `capture`: number of its capture; 0: its stream is not captured. No lock.
  class Call {
   public:
    Call(CapturedCalls& all, uint64_t capture) noexcept : all_(all), capture_(capture) {
      if (capture_ != 0) ++all_.num_calls_;
    }
    ~Call() {
      if (capture_ != 0) --all_.num_calls_;
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    uint64_t capture() const noexcept { return capture_; }

   private:
    CapturedCalls& all_;
    const uint64_t capture_;
  };
  /// Whether there is a call: nothing may wait for the device. No lock.
  bool any() const noexcept { return num_calls_ > 0; }
  /// Whether a call waits for a kernel: all that are missing are then compiled side by side. No lock.
  bool any_waits() const noexcept { return num_waiting_ > 0; }

  std::chrono::milliseconds max_wait() const noexcept { return max_wait_; }
  /// Whether calls of the capture wait: none does after a wait of it has come to nothing.
  bool may_wait(uint64_t capture) const { return max_wait_.count() > 0 && !given_up_.contains(capture); }
  void give_up(uint64_t capture) {
    if (given_up_.size() >= kMaxKept) given_up_.clear();
    given_up_.insert(capture);
  }
  /// Blocks until `is_over` returns true, at most until `end`. Holds no lock and polls, so that the thread disturbs no
  /// fork() and no child finds a lock of it.
  template <typename IsOver>
  void wait(Clock::time_point end, const IsOver& is_over) noexcept {
    ++num_waiting_;
    while (!is_over() && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --num_waiting_;
  }

  /// Counts a launch that keeps a default kernel. Returns whether it is the first of its shape, of at most 1024.
  bool add_stand_in(const ProblemKey& shape) {
    ++num_stand_ins_;
    return shapes_.size() < kMaxKept && shapes_.insert(shape).second;
  }
  /// No lock.
  uint64_t num_stand_ins() const noexcept { return num_stand_ins_; }

 private:
  static constexpr size_t kMaxKept = 1024;  ///< Size of each set.
  const std::chrono::milliseconds max_wait_;
  std::atomic<uint32_t> num_calls_{0}, num_waiting_{0};
  std::atomic<uint64_t> num_stand_ins_{0};
  std::set<uint64_t> given_up_;  ///< Captures.
  std::set<ProblemKey> shapes_;  ///< That a launch kept a default kernel for.
};

}  // namespace attune
