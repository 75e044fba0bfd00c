// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "base/descriptor.h"
#include "base/mutex.h"

namespace attune {

class DeviceUser;

/// A device that several executors of one run share. At a time, any number of them prepare candidates, or one takes
/// samples while no other does anything there. They get their turns in the order of asking, so each waits only for the
/// executors before it. Thread-safe; made by std::make_shared, and lives as long as one of its users.
class SharedDevice {
 public:
  enum class Use : uint8_t {
    prepare,  ///< Nothing is timed: problems are opened, candidates loaded and verified, workers start.
    sample,   ///< Launches are timed: alone.
  };
  SharedDevice() = default;
  SharedDevice(const SharedDevice&) = delete;
  SharedDevice& operator=(const SharedDevice&) = delete;

 private:
  friend class DeviceUser;
  bool is_free_for(Use use) const ATTUNE_REQUIRES(mutex_);
  void admit(Use use) ATTUNE_REQUIRES(mutex_);
  void leave(Use use) ATTUNE_REQUIRES(mutex_);
  void call_next() ATTUNE_REQUIRES(mutex_);

  Mutex mutex_;
  std::deque<DeviceUser*> queue_ ATTUNE_GUARDED_BY(mutex_);  ///< In the order of asking.
  uint32_t num_preparing_ ATTUNE_GUARDED_BY(mutex_) = 0;
  bool is_sampling_ ATTUNE_GUARDED_BY(mutex_) = false;
};

/// One executor's access to a shared device: the turn of its request, and the turn of a worker that it starts at the
/// same time. Used by one thread; ends its turns when it ends. A call takes a few microseconds.
class DeviceUser {
 public:
  /// Throws device when the process has too many open files.
  explicit DeviceUser(std::shared_ptr<SharedDevice> device);
  ~DeviceUser();
  DeviceUser(const DeviceUser&) = delete;
  DeviceUser& operator=(const DeviceUser&) = delete;

  /// For poll(): readable once a turn that was asked for has come.
  int descriptor() const noexcept { return called_.number(); }
  /// Whether it is this user's turn, until release(). False: it waits, and must ask again, for the same use, once the
  /// descriptor is readable. Returns at once.
  bool acquire(SharedDevice::Use use);
  /// Ends the turn, or the wait for one. Does nothing without either.
  void release();
  /// Whether a worker may start now, in parallel with the request; then until worker_started(). Returns at once: false
  /// while an executor samples or waits to sample.
  bool may_start_worker();
  void worker_started();

 private:
  friend class SharedDevice;
  void end_turn();

  const std::shared_ptr<SharedDevice> device_;
  const Descriptor called_;
  bool starts_worker_ = false;
  // Used under the device's mutex, by its other users' threads, too.
  std::optional<SharedDevice::Use> asked_;
  bool has_turn_ = false;
};

}  // namespace attune
