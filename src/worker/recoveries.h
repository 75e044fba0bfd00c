// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <optional>
#include <vector>

#include "core/turn.h"

namespace attune {

/// How long an executor took to recover from one death of a worker, from when it was noticed.
struct Recovery {
  Milliseconds worker{0};  ///< Until a fresh worker was up on the device.
  /// Until a worker had everything that was open and admitted. If a candidate is tried once more alone, only until its
  /// problem is open; the rest follows after that try. Includes deaths in between, each a Recovery of its own, and the
  /// deadlines that they ran into.
  Milliseconds everything{0};
  bool operator==(const Recovery&) const = default;
};

/// The recoveries of one executor. Not thread-safe.
class Recoveries {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void died(Time noticed) { open_.push_back({noticed, std::nullopt}); }
  /// A fresh worker is up on the device.
  void worker_is_up(Time now) {
    for (Open& one : open_) {
      if (!one.worker) one.worker = between(one.noticed, now);
    }
  }
  /// A worker has everything.
  void everything_is_back(Time now) {
    for (const Open& one : open_) {
      if (one.worker) done_.push_back({*one.worker, between(one.noticed, now)});
    }
    open_.clear();
  }
  /// Nothing will be restored: there is no recovery from the last deaths.
  void give_up() { open_.clear(); }

  /// In the order of the deaths.
  const std::vector<Recovery>& all() const noexcept { return done_; }

 private:
  struct Open {
    Time noticed;
    std::optional<Milliseconds> worker;
  };
  static Milliseconds between(Time from, Time to) { return std::chrono::duration_cast<Milliseconds>(to - from); }

  std::vector<Open> open_;  ///< Deaths after which something is still missing.
  std::vector<Recovery> done_;
};

}  // namespace attune
