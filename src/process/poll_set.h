// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <optional>

#include "base/descriptor.h"
#include "core/turn.h"

namespace attune {

/// One descriptor for poll() that stands for several and a timer: it is readable while one of them is ready, and from
/// the end of the timer on. Not thread-safe. A call takes about a microsecond.
class PollSet {
 public:
  /// Throws device when the process has too many open files.
  PollSet();

  int descriptor() const noexcept { return set_.number(); }
  /// Watches a descriptor for bytes to read and for its end, and for space to write to if `writing`, until forget() or
  /// its close. A second call replaces the first. Throws device when the system refuses.
  void watch(int descriptor, bool writing = false);
  void forget(int descriptor) noexcept;
  /// Sets the timer; zero or less: the set is readable at once; nullopt: the timer is off.
  void wake_in(std::optional<std::chrono::nanoseconds> time) noexcept;
  /// Waits until the set is readable, or up to `timeout`.
  void wait(Milliseconds timeout) const noexcept;

 private:
  Descriptor set_, timer_, ready_;  ///< The last is always readable; it is in the set when that is to be so at once.
  bool is_timer_set_ = false;       ///< Whether the timer is on, or has ended.
  bool is_ready_ = false;           ///< Whether the set is readable at once.
};

}  // namespace attune
