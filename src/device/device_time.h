// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

#include "core/time_use.h"

namespace attune {

/// Time of a device's owner thread by activity, and the device's busy time in each. A change of the activity reads a
/// clock, which takes about 25 ns. Used by the owner thread, except add_busy_us(), which any thread may call.
class DeviceTime {
 public:
  /// Replaces the clock, which returns seconds, for tests with virtual time.
  void set_clock(std::function<double()> now_s) {
    now_s_ = std::move(now_s);
    begin();
  }
  /// Clears the counts and starts again, with the activity `wait`.
  void begin() {
    use_ = {};
    began_s_ = now_s_();
    began_busy_us_ = busy_us_;
    activity_ = Activity::wait;
  }
  /// Returns the counts since begin().
  const TimeUse& use() {
    count();
    return use_;
  }
  /// Adds time in which the device computed.
  void add_busy_us(double us) noexcept {
    if (us > 0) busy_us_.fetch_add(us, std::memory_order_relaxed);
  }

 private:
  friend class ActivityScope;

  void count() {
    const double now_s = now_s_(), busy_us = busy_us_;
    TimeUse::Share& share = use_[activity_];
    share.wall_s += now_s - began_s_;
    share.busy_s += (busy_us - began_busy_us_) * 1e-6;
    began_s_ = now_s;
    began_busy_us_ = busy_us;
  }
  Activity change_to(Activity activity) {
    count();
    return std::exchange(activity_, activity);
  }

  std::function<double()> now_s_ = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  std::atomic<double> busy_us_{0};
  TimeUse use_;
  double began_s_ = now_s_(), began_busy_us_ = 0;
  Activity activity_ = Activity::wait;
};

/// During its life the owner thread of a device has this activity; then it has the previous one again.
class ActivityScope {
 public:
  ActivityScope(DeviceTime& time, Activity activity) : time_(time), before_(time.change_to(activity)) {}
  ~ActivityScope() { time_.change_to(before_); }
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;

 private:
  DeviceTime& time_;
  Activity before_;
};

}  // namespace attune
