// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <map>

#include "base/mutex.h"

namespace attune {

/// The connections whose server waits for their client: for a request, or until a part of an answer is taken.
/// Thread-safe.
class WaitingClients {
 public:
  /// Adds a connection, which waits from now on; of one that is there already, nothing changes.
  void add(int socket);
  /// Removes a connection; nothing for one that is not there. Requires: called before the socket is closed, because its
  /// number is used again.
  void remove(int socket) noexcept;
  /// Shuts down and removes the connection that has waited longest, which ends its thread's wait. Returns false if none
  /// waits. O(number of connections).
  bool end_longest() noexcept;
  /// Shuts down and removes all, and from now on each that is added.
  void end_all() noexcept;

 private:
  Mutex mutex_;
  bool is_ended_ ATTUNE_GUARDED_BY(mutex_) = false;
  std::map<int, std::chrono::steady_clock::time_point> since_ ATTUNE_GUARDED_BY(mutex_);  ///< By socket.
};

}  // namespace attune
