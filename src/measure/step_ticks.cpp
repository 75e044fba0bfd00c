// SPDX-License-Identifier: MIT
#include "measure/step_ticks.h"

namespace attune {
namespace {

/// As often as the wait for a worker looks. It is rare enough that a tick between two samples does not disturb them.
constexpr Milliseconds kBetweenTicks{100};

}  // namespace

void StepTicks::set(Tick tick) {
  tick_ = std::move(tick);
  ticked_ = Clock::now();
}

void StepTicks::announce(Slot slot, Milliseconds limit) {
  // The tick comes first, because the time of the announced step begins with its announcement.
  is_stopped();
  if (inner_ != nullptr) inner_->announce(slot, limit);
}

void StepTicks::end_worker(const std::string& why) noexcept {
  if (inner_ != nullptr) inner_->end_worker(why);
}

bool StepTicks::is_stopped() {
  if (!tick_ || is_stopped_) return is_stopped_;
  const auto now = Clock::now();
  if (now - ticked_ < kBetweenTicks) return false;
  is_stopped_ = tick_();
  ticked_ = Clock::now();
  return is_stopped_;
}

}  // namespace attune
