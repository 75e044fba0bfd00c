// SPDX-License-Identifier: MIT
#include "store/sql_connection.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "store/journal.h"

namespace attune {
namespace {

namespace api = sqlite_api;

/// How often the process is asked whether to go on waiting.
constexpr int kAskEachMs = 100;

std::atomic<JournalWait> journal_wait{nullptr};

std::string_view options_of(SqlAccess access) {
  if (access == SqlAccess::read_only) return " readonly=true";
  return access == SqlAccess::read_own ? " vfs=unix-none" : "";
}

}  // namespace

void set_journal_wait(JournalWait wait) noexcept { journal_wait = wait; }

bool SqlConnection::may_wait(int waited_ms) const {
  if (waited_ms >= words_.max_wait_ms) return false;
  const JournalWait wait = journal_wait;
  return wait == nullptr || !words_.asks_process || waited_ms % kAskEachMs != 0 || wait(waited_ms / 1000.0, file_);
}

SqlConnection::SqlConnection(const std::filesystem::path& file, SqlAccess access, const std::filesystem::path& named,
                             const DatabaseWords& words)
    : file_(named), opened_(file), words_(words) {
  const std::string path = file.string();
  if (path.find('"') != std::string::npos)
    fail(ErrorCode::invalid_input, "{}'s path must not contain a quotation mark: '{}'", words_.noun, path);
  guard([&] {
    session_.open(soci::sqlite3, fmt::format("db=\"{}\"{}", path, options_of(access)));
    // SQLite's own back-off starves one of several writers; polling each millisecond is fair.
    api::sqlite3_busy_handler(
        raw(),
        [](void* connection, int count) {
          ::usleep(1000);
          return static_cast<const SqlConnection*>(connection)->may_wait(count) ? 1 : 0;
        },
        this);
    api::sqlite3_extended_result_codes(raw(), 1);
    // Without shared memory: that needs locks.
    if (access == SqlAccess::read_own) session_ << "PRAGMA locking_mode = EXCLUSIVE";
  });
}

int SqlConnection::integer(const std::string& query) {
  int value = 0;
  guard([&] { session_ << query, soci::into(value); });
  return value;
}

std::string SqlConnection::text(const std::string& query) {
  std::string value;
  guard([&] { session_ << query, soci::into(value); });
  return value;
}

void SqlConnection::fail_damaged() const {
  throw JournalDamage(ErrorCode::database,
                      fmt::format("{0} is damaged or is not {1}: move it away or restore a copy (without -wal and -shm "
                                  "beside it): '{2}'",
                                  words_.noun, words_.one, file_.string()));
}

int SqlConnection::code_of(const soci::soci_error& error) {
  if (const auto* own = dynamic_cast<const soci::sqlite3_soci_error*>(&error)) return own->result() & 0xff;
  return session_.is_connected() ? api::sqlite3_errcode(raw()) & 0xff : SQLITE_CANTOPEN;
}

void SqlConnection::fail_unless_busy(const soci::soci_error& error, int num_tries, double began_s) {
  const bool is_late = (steady_clock().now_s() - began_s) * 1000 >= words_.max_wait_ms;
  const bool may_repeat = session_.is_connected() && api::sqlite3_get_autocommit(raw()) != 0;
  if (code_of(error) != SQLITE_BUSY || is_late || !may_wait(num_tries) || !may_repeat) fail_with(error);
}

std::string SqlConnection::why_inaccessible() const {
  // No descriptor of the file itself: closing it would drop the locks of other connections.
  const auto folder = opened_.has_parent_path() ? opened_.parent_path() : std::filesystem::path(".");
  const Descriptor opened(::open(folder.c_str(), O_PATH | O_CLOEXEC));
  if (opened.number() < 0 || ::faccessat(AT_FDCWD, opened_.c_str(), R_OK, AT_EACCESS) != 0) return std::strerror(errno);
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    return fmt::format("{}, and SQLite writes beside it", std::strerror(errno));
  if (::faccessat(AT_FDCWD, opened_.c_str(), W_OK, AT_EACCESS) != 0) return std::strerror(errno);
  return "SQLite does not say why";
}

void SqlConnection::fail_with(const soci::soci_error& error) {
  const int system_error = session_.is_connected() ? api::sqlite3_system_errno(raw()) : 0;
  const bool is_full = system_error == ENOSPC || system_error == EDQUOT;
  switch (is_full ? SQLITE_FULL : code_of(error)) {
    case SQLITE_FULL:
      fail(ErrorCode::io, "no space left for {}, free some or name another with {}: '{}'", words_.noun, words_.setting,
           file_.string());
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      fail_damaged();
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      fail(ErrorCode::database, "another process keeps {} locked, end it or try again later: '{}'", words_.noun,
           file_.string());
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      throw JournalInaccessible(
          ErrorCode::database,
          fmt::format("{} cannot be opened ({}), check its mode and its folder's or name another with {}: '{}'",
                      words_.noun, why_inaccessible(), words_.setting, file_.string()));
    default:
      fail(ErrorCode::database, "{} cannot be read or written ({}), name another with {}: '{}'", words_.noun,
           error.get_error_message(), words_.setting, file_.string());
  }
}

}  // namespace attune
