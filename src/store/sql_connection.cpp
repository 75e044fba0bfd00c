// SPDX-License-Identifier: MIT
#include "store/sql_connection.h"

#include <fmt/format.h>

namespace attune {
namespace {

namespace api = sqlite_api;

constexpr int kBusyWaitMs = 60'000;

}  // namespace

SqlConnection::SqlConnection(const std::filesystem::path& file, SqlAccess access) : file_(file) {
  const std::string path = file.string();
  if (path.find('"') != std::string::npos)
    fail(ErrorCode::invalid_input, "the journal's path must not contain a quotation mark: '{}'", path);
  guard([&] {
    session_.open(soci::sqlite3,
                  fmt::format("db=\"{}\"{}", path, access == SqlAccess::read_only ? " readonly=true" : ""));
    // SQLite's own back-off starves one of several writers; polling each millisecond is fair.
    api::sqlite3_busy_handler(
        raw(),
        [](void*, int count) {
          ::usleep(1000);
          return count < kBusyWaitMs ? 1 : 0;
        },
        nullptr);
    api::sqlite3_extended_result_codes(raw(), 1);
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
                      fmt::format("the journal is damaged or is not a journal: move it away or restore a copy "
                                  "(without -wal and -shm beside it): '{}'",
                                  file_.string()));
}

int SqlConnection::code_of(const soci::soci_error& error) {
  if (const auto* own = dynamic_cast<const soci::sqlite3_soci_error*>(&error)) return own->result() & 0xff;
  return session_.is_connected() ? api::sqlite3_errcode(raw()) & 0xff : SQLITE_CANTOPEN;
}

void SqlConnection::fail_unless_busy(const soci::soci_error& error, int waited_ms) {
  const bool may_repeat = session_.is_connected() && api::sqlite3_get_autocommit(raw()) != 0;
  if (code_of(error) != SQLITE_BUSY || waited_ms >= kBusyWaitMs || !may_repeat) fail_with(error);
}

void SqlConnection::fail_with(const soci::soci_error& error) {
  switch (code_of(error)) {
    case SQLITE_FULL:
      fail(ErrorCode::database, "no space left for the journal, free some or name another with --journal: '{}'",
           file_.string());
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      fail_damaged();
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      fail(ErrorCode::database, "another process has kept the journal locked for {} s, end it or wait: '{}'",
           kBusyWaitMs / 1000, file_.string());
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      fail(ErrorCode::database,
           "no permission to open the journal, check its mode and its folder's or name another with --journal: "
           "'{}'",
           file_.string());
    default:
      fail(ErrorCode::database, "the journal cannot be read or written ({}), name another with --journal: '{}'",
           error.get_error_message(), file_.string());
  }
}

}  // namespace attune
