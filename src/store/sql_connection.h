// SPDX-License-Identifier: MIT
#pragma once
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

// Debian's SOCI is configured with Boost, which it uses only in header templates for types that are not bound here.
#include <soci/soci-config.h>
#undef SOCI_HAVE_BOOST
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include "base/clock.h"
#include "base/error.h"

namespace attune {

/// read_own: reads a file that only this process has, without locks: those of its file system may not work.
enum class SqlAccess { read_write, read_only, read_own };

/// The words of messages about a database, and how long a connection waits for others.
struct DatabaseWords {
  const char* noun = "the journal";
  const char* one = "a journal";
  const char* setting = "--journal";  ///< What names another file.
  int max_wait_ms = 60'000;
  bool asks_process = true;  ///< Whether the process's JournalWait may end a wait, as after an interrupt.
};

/// The database is damaged. Readers catch it to recover the other entries.
class JournalDamage final : public Error {
 public:
  using Error::Error;
};

/// SQLite cannot open the file for want of rights or of files of its own beside it.
class JournalInaccessible final : public Error {
 public:
  using Error::Error;
};

/// A connection to a SQLite file whose errors are sentences for users, Error{database}. It waits for other processes up
/// to DatabaseWords::max_wait_ms, and as long as the process's JournalWait lets it if DatabaseWords::asks_process is
/// set. Not thread-safe.
class SqlConnection {
 public:
  /// `named`: the file's name in messages.
  SqlConnection(const std::filesystem::path& file, SqlAccess access, const std::filesystem::path& named,
                const DatabaseWords& words = {});
  SqlConnection(const SqlConnection&) = delete;  // SQLite calls back with its address.
  SqlConnection& operator=(const SqlConnection&) = delete;

  soci::session& session() { return session_; }

  /// Runs an action, and repeats it while the file is busy outside a transaction: SQLite does not call the busy handler
  /// while a connection turns the write-ahead log on, and the last connection to close locks the file for a moment.
  /// Nothing was read or written in these cases.
  template <typename Action>
  auto guard(Action action) -> decltype(action()) {
    const double began_s = steady_clock().now_s();
    for (int num_tries = 0;; ++num_tries) {
      try {
        return action();
      } catch (const soci::soci_error& error) {
        fail_unless_busy(error, num_tries, began_s);  // The busy handler may have waited already.
        ::usleep(1000);
      }
    }
  }

  /// Runs an action as a whole or not at all. IMMEDIATE, because a transaction that starts as a reader cannot wait for
  /// a writer later.
  template <typename Action>
  void transaction(Action action) {
    guard([&] { run(begin_, "BEGIN IMMEDIATE"); });
    try {
      guard([&] {
        action();
        run(commit_, "COMMIT");
      });
    } catch (...) {
      try {
        session_ << "ROLLBACK";
      } catch (const soci::soci_error&) {
        // SQLite has already rolled back (disk full); the first error is the one to report.
      }
      throw;
    }
  }

  /// Runs readers, who see the database as it is at the first read. Blocks no writer.
  template <typename Action>
  void read_transaction(Action action) {
    guard([&] { session_ << "BEGIN"; });
    try {
      action();
    } catch (...) {
      guard([&] { session_ << "ROLLBACK"; });
      throw;
    }
    guard([&] { session_ << "COMMIT"; });
  }

  /// Waits up to `max_ms` for a lock from now on; returns the limit until now.
  int limit_wait(int max_ms) noexcept { return std::exchange(words_.max_wait_ms, max_ms); }

  int integer(const std::string& query);
  std::string text(const std::string& query);

  [[noreturn]] void fail_damaged() const;

 private:
  /// Runs a statement without parameters that is compiled at its first use: a run has thousands of transactions.
  void run(std::optional<soci::statement>& statement, const char* text) {
    if (!statement) statement.emplace((session_.prepare << text));
    statement->execute(true);
  }
  sqlite_api::sqlite3* raw() { return static_cast<soci::sqlite3_session_backend*>(session_.get_backend())->conn_; }
  /// SQLite's primary error code.
  int code_of(const soci::soci_error& error);
  /// Whether to go on waiting for a lock; called about once a millisecond.
  bool may_wait(int waited_ms) const;
  /// Why the file cannot be opened: the system's reason.
  std::string why_inaccessible() const;
  /// Returns if the action may be repeated.
  void fail_unless_busy(const soci::soci_error& error, int num_tries, double began_s);
  [[noreturn]] void fail_with(const soci::soci_error& error);

  std::filesystem::path file_, opened_;  ///< In messages; the file itself.
  DatabaseWords words_;
  soci::session session_;
  std::optional<soci::statement> begin_, commit_;  ///< The session must outlive them.
};

}  // namespace attune
