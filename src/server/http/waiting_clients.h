// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <map>

#include "base/mutex.h"

namespace attune {

/// The connections that can make room for others: those whose server waits for their client, for a request or until a
/// part of an answer is taken, and those whose client has had an answer and wants more. Thread-safe.
class WaitingClients {
 public:
  /// The connection waits from now on; of one that does already, nothing changes.
  void add(int socket);
  /// The server works for a client that waited and has had an answer before: it waits no longer, but can end
  /// afterwards. Nothing for one that is not there.
  void work(int socket);
  /// Removes a connection; nothing for one that is not there. Requires: called before the socket is closed, because its
  /// number is used again.
  void remove(int socket) noexcept;
  /// Shuts down and removes the connection that has waited longest, which ends its thread's wait. If none waits,
  /// the connection that has been worked for longest ends after its answer. Returns false if there is no such one.
  /// O(number of connections).
  bool end_longest() noexcept;
  /// Whether a connection that is worked for has to end after its answer.
  bool must_end(int socket) const noexcept;
  /// Shuts down and removes all that wait, and from now on each that is added.
  void end_all() noexcept;

 private:
  enum class State { waits, works, ends };
  struct Client {
    State state = State::waits;
    std::chrono::steady_clock::time_point since;  ///< That it waits, or is worked for.
  };
  using Clients = std::map<int, Client>;  ///< By socket.
  Clients::iterator longest(State state) ATTUNE_REQUIRES(mutex_);

  mutable Mutex mutex_;
  bool is_ended_ ATTUNE_GUARDED_BY(mutex_) = false;
  Clients clients_ ATTUNE_GUARDED_BY(mutex_);
};

}  // namespace attune
