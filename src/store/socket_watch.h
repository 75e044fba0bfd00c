// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <limits>
#include <set>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace attune {

/// Ends calls of a database's library that wait for a frozen server. TCP limits do not help: the kernel of a stopped
/// process still acknowledges data, and libpq has no read timeout. At the deadline the sockets of the connection are
/// shut down, and the library reports a lost connection. Deadlines are met within half a second. One thread uses this.
class SocketWatch {
 public:
  SocketWatch() = default;
  ~SocketWatch();
  SocketWatch(const SocketWatch&) = delete;
  SocketWatch& operator=(const SocketWatch&) = delete;

  /// Calls a library that connects. Watches all sockets with a named peer that this process opens during the call.
  /// Connections of one process are made one after another. Throws what `open` throws.
  void connect(double limit_s, const std::function<void()>& open);
  /// Calls a library that uses the connection. About 50 ns.
  template <typename Action>
  auto call(double limit_s, Action action) -> decltype(action()) {
    const Deadline deadline(*this, limit_s);
    return action();
  }
  /// After the library has closed the connection.
  void forget() noexcept;

 private:
  class Deadline {
   public:
    Deadline(SocketWatch& watch, double limit_s);
    ~Deadline() { watch_.deadline_s_ = kNone; }
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;

   private:
    SocketWatch& watch_;
  };
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  void start();
  void watch(const std::stop_token& stop);
  void shut_down() ATTUNE_REQUIRES(mutex_);
  void keep_new_sockets() ATTUNE_REQUIRES(mutex_);

  std::atomic<double> deadline_s_{kNone};
  Mutex mutex_;
  std::condition_variable_any wake_;
  bool is_connecting_ ATTUNE_GUARDED_BY(mutex_) = false;
  std::set<int> before_ ATTUNE_GUARDED_BY(mutex_);      ///< Descriptors before the connection.
  std::vector<int> sockets_ ATTUNE_GUARDED_BY(mutex_);  ///< Duplicates: the library may close its own.
  std::jthread thread_;
};

}  // namespace attune
