// SPDX-License-Identifier: MIT
#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace attune {

/// Threads that serve connections, at most as many as connections are allowed; started as they are needed. A
/// connection beyond them takes the place of one that can be ended, or is refused.
class ConnectionThreads {
 public:
  /// `end_one`: has a connection end within moments, and returns whether there was one that can. Requires: it does not
  /// wait.
  ConnectionThreads(size_t max_connections, std::function<bool()> end_one)
      : max_connections_(max_connections), end_one_(std::move(end_one)) {}
  ~ConnectionThreads() { shutdown(); }
  ConnectionThreads(const ConnectionThreads&) = delete;
  ConnectionThreads& operator=(const ConnectionThreads&) = delete;

  /// Has a thread run the task, which serves one connection and throws nothing. Returns false if there is no place.
  bool enqueue(std::function<void()> task);
  /// Runs what is queued, then ends the threads.
  void shutdown();

 private:
  void work();
  bool has_thread() ATTUNE_REQUIRES(mutex_);

  const size_t max_connections_;
  const std::function<bool()> end_one_;
  Mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::function<void()>> tasks_ ATTUNE_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ ATTUNE_GUARDED_BY(mutex_);
  size_t num_open_ ATTUNE_GUARDED_BY(mutex_) = 0;  ///< Connections that wait or are served.
  bool is_ended_ ATTUNE_GUARDED_BY(mutex_) = false;
};

}  // namespace attune
