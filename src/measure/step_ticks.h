// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>

#include "measure/announcer.h"
#include "measure/executor.h"

namespace attune {

/// Passes announcements on, and calls a tick between the announced steps once a tenth of a second has passed since its
/// last call. For an executor in its caller's process, which can tick only then. With a tick an announcement costs an
/// extra look at the clock (25 ns).
class StepTicks final : public Announcer {
 public:
  /// `inner` may be null; it must outlive this.
  explicit StepTicks(Announcer* inner) : inner_(inner) {}
  /// Sets the tick of the requests that follow; empty: none.
  void set(Tick tick);
  /// Forgets that the last request was stopped.
  void begin_request() { is_stopped_ = false; }

  void announce(Slot slot, Milliseconds limit) override;
  void end_worker(const std::string& why) noexcept override;
  /// Calls the tick if it is due.
  bool is_stopped() override;
  /// Whether there is an inner announcer: a supervisor that follows the steps and replaces this process if need be.
  bool is_watched() const noexcept { return inner_ != nullptr; }
  /// Whether a tick has stopped this request. Costs nothing.
  bool was_stopped() const noexcept { return is_stopped_; }

 private:
  using Clock = std::chrono::steady_clock;
  Announcer* inner_;
  Tick tick_;
  Clock::time_point ticked_;
  bool is_stopped_ = false;  ///< The tick is then not called again in the same request.
};

}  // namespace attune
