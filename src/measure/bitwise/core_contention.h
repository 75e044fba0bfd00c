// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace attune {

/// Threads that compete for the caller's cores until they are destroyed, busy and asleep for random times of 20 to 200
/// µs. They delay the threads of a team at random, which exposes results that depend on the order of those threads. The
/// destructor waits for them, at most 200 µs.
class CoreContention {
 public:
  /// Starts `num_threads` threads with the cores of the calling one. Throws Error{device} when the system refuses one.
  CoreContention(size_t num_threads, uint64_t seed);
  ~CoreContention();
  CoreContention(const CoreContention&) = delete;
  CoreContention& operator=(const CoreContention&) = delete;

 private:
  void stop() noexcept;

  std::atomic<bool> stopped_{false};
  std::vector<std::thread> threads_;
};

}  // namespace attune
