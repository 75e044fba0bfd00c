// SPDX-License-Identifier: MIT
#include "formats/sqlite_file.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/file.h"
#include "base/text.h"

namespace attune {
namespace {

namespace api = sqlite_api;

constexpr std::string_view kSqliteHead("SQLite format 3\0", 16);
constexpr int kReaderWaitMs = 5'000;

api::sqlite3* raw_connection(soci::session& session) {
  return static_cast<soci::sqlite3_session_backend*>(session.get_backend())->conn_;
}

constexpr const char* kTableNames = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";

std::vector<std::string> texts_of(soci::session& session, const std::string& query) {
  std::vector<std::string> texts;
  std::string text;
  soci::statement statement = (session.prepare << query, soci::into(text));
  statement.execute();
  while (statement.fetch()) texts.push_back(text);
  return texts;
}

}  // namespace

std::string sqlite_message(const soci::soci_error& error) {
  std::string text = error.get_error_message();
  // SOCI puts the name of its function in front.
  if (const size_t colon = text.find(": "); colon != std::string::npos && text.starts_with("sqlite3_"))
    text.erase(0, colon + 2);
  return text;
}

bool is_sqlite_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  try {
    FileReader reader(path);
    std::array<char, kSqliteHead.size()> head{};
    size_t size = 0;
    while (const size_t count = reader.read(std::span(head).subspan(size))) size += count;
    return std::string_view(head.data(), size) == kSqliteHead;
  } catch (const Error&) {
    return false;
  }
}

std::vector<std::string> tables_of_sqlite_file(const std::filesystem::path& path) {
  if (!is_sqlite_file(path) || path.native().find('"') != std::string::npos) return {};
  try {
    soci::session session(soci::sqlite3, "db=\"" + path.string() + "\" readonly=true");
    return texts_of(session, kTableNames);
  } catch (const soci::soci_error&) {
    return {};
  }
}

ForeignDatabase::ForeignDatabase(const std::filesystem::path& path) : path_(path) {
  // Reports why a file cannot be read. Closed here: closing it later would drop the locks of the connection.
  { const FileReader reader(path); }
  if (!is_sqlite_file(path)) fail(ErrorCode::invalid_input, "the file is no SQLite database: '{}'", path.string());
  if (path.string().find('"') != std::string::npos)
    fail(ErrorCode::invalid_input, "a database's path must not contain a quotation mark: '{}'", path.string());
  guard([&] {
    session_.open(soci::sqlite3, "db=\"" + path.string() + "\" readonly=true");
    api::sqlite3_busy_timeout(raw_connection(session_), kReaderWaitMs);
    session_ << "PRAGMA cell_size_check = ON";
    session_ << "BEGIN";  // All is read from one state of the file.
    const auto defects = texts_of(session_, "PRAGMA integrity_check(1)");
    if (defects.empty() || defects.front() != "ok")
      fail(ErrorCode::invalid_input, "the database is damaged ({}): '{}'", defects.empty() ? "empty" : defects.front(),
           path_.string());
    int owner = 0;
    session_ << "PRAGMA application_id", soci::into(owner);
    if (owner != 0) fail(ErrorCode::invalid_input, "the file is a database of another program: '{}'", path_.string());
    const auto others = texts_of(session_, "SELECT name FROM sqlite_master WHERE type NOT IN ('table', 'index')");
    if (!others.empty())
      fail(ErrorCode::invalid_input, "MIOpen's databases have no trigger and no view, this one has '{}': '{}'",
           shown(others.front()), path_.string());
    schema_ = texts_of(session_, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid");
  });
}

void ForeignDatabase::require_tables(const std::vector<std::string>& tables) {
  const auto found = guard([&] { return texts_of(session_, kTableNames); });
  if (found != tables)
    fail(ErrorCode::invalid_input, "the file is a database of another program, its tables are {} and not {}: '{}'",
         found.empty() ? "none" : shown(join(found, ", ")), join(tables, ", "), path_.string());
}

void ForeignDatabase::require_columns(const std::string& table, const std::vector<std::string>& columns) {
  const auto found = guard(
      [&] { return texts_of(session_, fmt::format("SELECT name FROM pragma_table_info('{}') ORDER BY cid", table)); });
  if (found == columns) return;
  for (const auto& [some, others, what] : {std::tuple(&found, &columns, "a column that this program does not know"),
                                           std::tuple(&columns, &found, "no column")}) {
    for (const std::string& column : *some) {
      if (std::ranges::find(*others, column) == others->end())
        fail(ErrorCode::invalid_input, "the table {} has {}, '{}', is it of another version of MIOpen? '{}'", table,
             what, shown(column), path_.string());
    }
  }
  fail(ErrorCode::invalid_input, "the table {} has its columns in another order: '{}'", table, path_.string());
}

void ForeignDatabase::require_rows(const std::string& table, const std::string& condition, const std::string& what) {
  const auto wrong = guard([&] {
    return texts_of(session_, fmt::format("SELECT CAST(id AS TEXT) FROM {} WHERE NOT ({}) LIMIT 1", table, condition));
  });
  if (!wrong.empty())
    fail(ErrorCode::invalid_input, "row {} of {} {}: '{}'", wrong.front(), table, what, path_.string());
}

void ForeignDatabase::fail_with(const soci::soci_error& error) const {
  const auto* own = dynamic_cast<const soci::sqlite3_soci_error*>(&error);
  const int code = own != nullptr ? own->result() & 0xff : SQLITE_ERROR;
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
    fail(ErrorCode::invalid_input, "another process keeps the database locked, try again later: '{}'", path_.string());
  fail(ErrorCode::invalid_input, "the database cannot be read ({}): '{}'", sqlite_message(error), path_.string());
}

NewDatabase::NewDatabase(const std::vector<std::string>& schema) {
  try {
    session_.open(soci::sqlite3, "db=:memory:");
    for (const std::string& statement : schema) session_ << statement;
  } catch (const soci::soci_error& error) {
    fail(ErrorCode::invalid_input, "a table cannot be made: {}", sqlite_message(error));
  }
}

std::string NewDatabase::bytes() {
  api::sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, void (*)(void*)> serialized(
      api::sqlite3_serialize(raw_connection(session_), "main", &size, 0), api::sqlite3_free);
  if (!serialized) fail(ErrorCode::io, "there is not enough memory for the database");
  return {reinterpret_cast<const char*>(serialized.get()), static_cast<size_t>(size)};
}

}  // namespace attune
