// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <string>
#include <vector>

// Debian's SOCI is configured with Boost, which it uses only in header templates for types that are not bound here.
#include <soci/soci-config.h>
#undef SOCI_HAVE_BOOST
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include "base/error.h"

namespace attune {

/// What SQLite says of an error, without SOCI's names of functions: `UNIQUE constraint failed: kern_db.kernel_name`.
std::string sqlite_message(const soci::soci_error& error);

/// Whether a file starts like a SQLite database. False for a file that cannot be read.
bool is_sqlite_file(const std::filesystem::path& path);
/// The names of its tables, sorted; none for other files, and while another process locks the file.
std::vector<std::string> tables_of_sqlite_file(const std::filesystem::path& path);

/// A SQLite database of another program. It is opened read-only; a reader waits 5 s for a writer. Messages name the
/// file. Not thread-safe.
class ForeignDatabase {
 public:
  /// Throws invalid_input for a file that is no SQLite database, is damaged, locked or unreadable, or has an
  /// application id, a trigger or a view.
  explicit ForeignDatabase(const std::filesystem::path& path);

  soci::session& session() { return session_; }
  /// The statements of its tables and indexes, in their order.
  const std::vector<std::string>& schema() const noexcept { return schema_; }
  /// Throws invalid_input unless the file has these tables and no others, and a table these columns in this order.
  void require_tables(const std::vector<std::string>& tables);
  void require_columns(const std::string& table, const std::vector<std::string>& columns);
  /// Throws invalid_input if a row of the table does not meet the condition, which speaks of its id.
  void require_rows(const std::string& table, const std::string& condition, const std::string& what);

  /// Runs an action; throws invalid_input for SQLite's errors.
  template <typename Action>
  auto guard(Action action) -> decltype(action()) {
    try {
      return action();
    } catch (const soci::soci_error& error) {
      fail_with(error);
    }
  }

 private:
  [[noreturn]] void fail_with(const soci::soci_error& error) const;

  std::filesystem::path path_;
  soci::session session_;
  std::vector<std::string> schema_;
};

/// A database that is made in memory, and its file's bytes.
class NewDatabase {
 public:
  /// Makes the tables and indexes. Throws invalid_input if SQLite refuses a statement.
  explicit NewDatabase(const std::vector<std::string>& schema);
  soci::session& session() { return session_; }
  /// Runs an action as one transaction; throws invalid_input, naming `what`, for SQLite's errors (a repeated row).
  template <typename Action>
  void fill(const std::string& what, Action action) {
    try {
      session_ << "BEGIN";
      action();
      session_ << "COMMIT";
    } catch (const soci::soci_error& error) {
      fail(ErrorCode::invalid_input, "{} cannot be written: {}", what, sqlite_message(error));
    }
  }
  std::string bytes();

 private:
  soci::session session_;
};

}  // namespace attune
