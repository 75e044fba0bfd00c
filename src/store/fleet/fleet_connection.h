// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "store/fleet/fleet_dialect.h"
#include "store/fleet/store_address.h"
#include "store/socket_watch.h"
#include "store/sql_connection.h"

namespace attune {

/// foreign: a server that another program's tables are read from. It may be one that cannot hold a store.
enum class ServerUse : uint8_t { own, foreign };

/// The connection to a fleet's store. A file is opened once. The connection to a server is made at the first use and
/// made again after it was lost; an action that the server or another process has disturbed is repeated. Errors are one
/// sentence without a password: StoreAway if the server does not answer, invalid_input if it does not let the user in,
/// else database. A server that does not answer a statement for ATTUNE_STORE_TIMEOUT_S (three times the wait for locks,
/// at least 30 s) counts as away. After a failed attempt to connect, the next one waits 2 s and all actions fail at
/// once. Not thread-safe.
class FleetConnection {
 public:
  FleetConnection(StoreAddress address, int max_wait_ms, ServerUse use = ServerUse::own);
  FleetConnection(const FleetConnection&) = delete;
  FleetConnection& operator=(const FleetConnection&) = delete;

  const FleetDialect& dialect() const noexcept { return dialect_; }
  const StoreAddress& address() const noexcept { return address_; }
  /// Requires: guard(), transaction() or read_transaction() calls.
  soci::session& session() { return file_ ? file_->session() : *server_; }
  /// The connection to a file; null: to a server.
  SqlConnection* file() noexcept { return file_ ? &*file_ : nullptr; }

  /// Runs an action; of a transaction as part of it.
  template <typename Action>
  auto guard(Action action) -> decltype(action()) {
    if (file_) return file_->guard(action);
    if (is_in_transaction_) return watched(action);  // transaction() handles errors.
    const double began_s = steady_clock().now_s();
    for (int num_tries = 0;; ++num_tries) {
      connect();
      try {
        return watched(action);
      } catch (const soci::soci_error& error) {
        recover(error, num_tries, began_s);
      }
    }
  }

  /// Runs an action as a whole or not at all. It is run again after a conflict or a lost connection, even one that was
  /// lost during the commit: it must begin with its results empty, and end the same if its changes are there.
  template <typename Action>
  void transaction(Action action) {
    if (file_) return file_->transaction(action);
    const double began_s = steady_clock().now_s();
    for (int num_tries = 0;; ++num_tries) {
      connect();
      try {
        run_between([this] { server_->begin(); }, action);
        return;
      } catch (const soci::soci_error& error) {
        recover(error, num_tries, began_s);
      }
    }
  }

  /// Runs readers, who see the database as it is at the first read. Blocks no writer. Runs them once.
  template <typename Action>
  void read_transaction(Action action) {
    if (file_) return file_->read_transaction(action);
    guard([this] { *server_ << "SELECT 1"; });  // The connection may have been lost since its last use.
    try {
      run_between(
          [this] {
            for (const std::string& one : dialect_.begin_reading()) *server_ << one;
          },
          action);
    } catch (const soci::soci_error& error) {
      fail_with(error);
    }
  }

  /// Waits up to `max_ms` for other transactions from now on; returns the limit until now.
  int limit_wait(int max_ms) noexcept {
    return file_ ? file_->limit_wait(max_ms) : std::exchange(max_wait_ms_, max_ms);
  }

  /// Throws if a statement of so many bytes is longer than the server takes.
  void check_size(size_t num_bytes) const;

 private:
  template <typename Begin, typename Action>
  void run_between(Begin begin, Action action) {
    is_in_transaction_ = true;
    try {
      watched(begin);
      action();
      watched([this] { server_->commit(); });
    } catch (...) {
      is_in_transaction_ = false;
      roll_back();
      throw;
    }
    is_in_transaction_ = false;
  }
  template <typename Action>
  auto watched(Action action) -> decltype(action()) {
    return watch_.call(answer_limit_s(), action);
  }
  double answer_limit_s() const noexcept;
  void connect();
  void open();
  void prepare();
  void close() noexcept;
  void roll_back() noexcept;
  SqlFault fault_of(const soci::soci_error& error) const;
  /// Returns if the action may be repeated.
  void recover(const soci::soci_error& error, int num_tries, double began_s);
  [[noreturn]] void fail_with(const soci::soci_error& error);
  [[noreturn]] void fail_to_connect(const std::string& message);
  std::string reason_of(const std::string& message) const;

  StoreAddress address_;
  const ServerUse use_;
  const FleetDialect& dialect_;
  int max_wait_ms_;
  std::optional<SqlConnection> file_;
  const std::optional<double> timeout_s_;  ///< The user's.
  SocketWatch watch_;
  std::unique_ptr<soci::session> server_;  ///< Null: not connected.
  bool is_in_transaction_ = false;
  double next_try_s_ = 0;
  std::string why_away_;  ///< Until next_try_s_.
  size_t max_bytes_ = 0;  ///< Of a statement; 0: no limit.
};

}  // namespace attune
