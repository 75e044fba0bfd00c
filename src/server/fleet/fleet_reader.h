// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "store/fleet/overview/fleet_overview.h"

namespace attune {

/// The fleet at the last look.
struct FleetSight {
  FleetOverview overview;
  std::string failure;  ///< Why there is no overview, one sentence; empty: there is one.
};

/// The fleet's store for clients that ask at any time: it is read when someone asks, at most once in a while and in at
/// most a share of the time. One thread reads; meanwhile others get the last sight. Thread-safe.
class FleetReader {
 public:
  /// `read`: as read_fleet_overview(), which tests replace.
  explicit FleetReader(std::function<FleetOverview()> read = &read_fleet_overview,
                       std::chrono::milliseconds max_age = std::chrono::seconds(2), double max_share = 0.1)
      : read_(std::move(read)), max_age_(max_age), max_share_(max_share) {}

  /// At most `max_age` old, or older if reading takes long. A failed read is repeated after `max_age`. Never null.
  std::shared_ptr<const FleetSight> sight();

 private:
  const std::function<FleetOverview()> read_;
  const std::chrono::milliseconds max_age_;
  const double max_share_;
  Mutex mutex_;
  std::condition_variable_any read_ended_;
  std::shared_ptr<const FleetSight> sight_ ATTUNE_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point next_ ATTUNE_GUARDED_BY(mutex_);  ///< Not read again before.
  bool is_reading_ ATTUNE_GUARDED_BY(mutex_) = false;
};

}  // namespace attune
