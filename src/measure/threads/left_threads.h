// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>

#include "core/outcome.h"
#include "core/turn.h"
#include "device/device.h"

namespace attune {

/// Finds candidates whose threads still run when they should rest (DeviceThreads::await_rest()). Such threads slow the
/// candidates that follow, so the next sample is void, and the candidate that left them is charged. A candidate that is
/// charged kMaxCharges times in a row is at fault. A single charge may be an error: a thread that lost its core once
/// also seems to run.
///
/// Waiting after each turn would cost as much as a sample. So a candidate is checked when it is admitted, before a turn
/// of another pool, and at the end of a schedule. After a first charge it is checked after each of its turns.
class LeftThreads {
 public:
  static constexpr uint32_t kMaxCharges = 3;

  /// `threads`: null disables the check. It must outlive this.
  explicit LeftThreads(DeviceThreads* threads) : threads_(threads) {}

  /// Whether a new candidate leaves threads after each of kMaxCharges calls of `run`, or some that do not rest at all.
  bool leaves(const std::function<void()>& run);
  /// Waits for a while before a turn until the threads left by another candidate rest.
  void begin_turn();
  struct Verdict {
    bool is_void = false;  ///< Threads left by another candidate ran during the turn.
    Slot faulty = 0;       ///< Slot that has left threads too often; 0: none.
  };
  Verdict end_turn(Slot slot);
  /// Call it after a schedule, when the threads were settled.
  void end_schedule(std::span<const Turn> schedule);
  /// Outcome of a candidate that is at fault.
  static Outcome outcome();

 private:
  Slot charge(Slot slot);

  DeviceThreads* threads_;
  std::map<Slot, uint32_t> charges_;  ///< In a row, of the slots that are looked at after each turn.
  Slot left_by_ = 0;                  ///< Slot whose threads still ran; 0: none.
  Slot last_ = 0;                     ///< Slot of the turn before; 0: none.
};

}  // namespace attune
