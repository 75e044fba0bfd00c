// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>

// Debian's SOCI is configured with Boost, which it uses only in header templates for types that are not bound here.
#include <soci/soci-config.h>
#undef SOCI_HAVE_BOOST
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include "base/clock.h"
#include "base/error.h"
#include "store/compaction.h"
#include "store/entry_json.h"
#include "store/journal.h"
#include "store/journal_file.h"
#include "store/sql_condition.h"
#include "store/sql_schema.h"

namespace attune {
namespace {

namespace api = sqlite_api;

constexpr int kApplicationId = static_cast<int>(kJournalApplicationId);
constexpr int kBusyWaitMs = 60'000;

enum class Access { read_write, read_only };

/// The database is damaged. Readers catch it to recover the other entries.
class JournalDamage final : public Error {
 public:
  using Error::Error;
};

/// A connection whose errors are sentences for users.
class Connection {
 public:
  Connection(const std::filesystem::path& file, Access access) : file_(file) {
    const std::string path = file.string();
    if (path.find('"') != std::string::npos)
      fail(ErrorCode::invalid_input, "the journal's path must not contain a quotation mark: '{}'", path);
    guard([&] {
      session_.open(soci::sqlite3,
                    fmt::format("db=\"{}\"{}", path, access == Access::read_only ? " readonly=true" : ""));
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

  soci::session& session() { return session_; }

  /// Runs an action, and repeats it while the file is busy outside a transaction: SQLite does not call the busy handler
  /// while a connection turns the write-ahead log on, and the last connection to close locks the file for a moment.
  /// Nothing was read or written in these cases.
  template <typename Action>
  auto guard(Action action) -> decltype(action()) {
    for (int waited_ms = 0;; ++waited_ms) {
      try {
        return action();
      } catch (const soci::soci_error& error) {
        const bool may_repeat = session_.is_connected() && api::sqlite3_get_autocommit(raw()) != 0;
        if (code_of(error) != SQLITE_BUSY || waited_ms >= kBusyWaitMs || !may_repeat) fail_with(error);
        ::usleep(1000);
      }
    }
  }

  /// Runs an action as a whole or not at all. IMMEDIATE, because a transaction that starts as a reader cannot wait for
  /// a writer later.
  template <typename Action>
  void transaction(Action action) {
    guard([&] { session_ << "BEGIN IMMEDIATE"; });
    try {
      guard([&] {
        action();
        session_ << "COMMIT";
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

  int integer(const std::string& query) {
    int value = 0;
    guard([&] { session_ << query, soci::into(value); });
    return value;
  }
  std::string text(const std::string& query) {
    std::string value;
    guard([&] { session_ << query, soci::into(value); });
    return value;
  }

  [[noreturn]] void fail_damaged() const {
    throw JournalDamage(ErrorCode::database,
                        fmt::format("the journal is damaged or is not a journal: move it away or restore a copy "
                                    "(without -wal and -shm beside it): '{}'",
                                    file_.string()));
  }

 private:
  api::sqlite3* raw() { return static_cast<soci::sqlite3_session_backend*>(session_.get_backend())->conn_; }

  /// SQLite's primary error code.
  int code_of(const soci::soci_error& error) {
    if (const auto* own = dynamic_cast<const soci::sqlite3_soci_error*>(&error)) return own->result() & 0xff;
    return session_.is_connected() ? api::sqlite3_errcode(raw()) & 0xff : SQLITE_CANTOPEN;
  }

  [[noreturn]] void fail_with(const soci::soci_error& error) {
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

  std::filesystem::path file_;
  soci::session session_;
};

/// Checks the application id and returns the version.
int checked_version(Connection& connection, const std::filesystem::path& file) {
  // The tables are counted first: another process that creates them sets the application id in the same transaction.
  const int tables = connection.integer("SELECT count(*) FROM sqlite_master");
  const int owner = connection.integer("PRAGMA application_id");
  const int version = connection.integer("PRAGMA user_version");
  if (owner != kApplicationId && (tables > 0 || owner != 0)) {
    fail(ErrorCode::database, "the file is a database of another program, name another with --journal: '{}'",
         file.string());
  }
  if (version > kSchemaVersion) {
    fail(ErrorCode::database,
         "the journal has schema {} and this program supports up to {}, use the newer program or another --journal: "
         "'{}'",
         version, kSchemaVersion, file.string());
  }
  return version;
}

void migrate(Connection& connection, const std::filesystem::path& file) {
  if (checked_version(connection, file) == kSchemaVersion) return;
  connection.transaction([&] {
    // Another process may have migrated while this one waited for the lock.
    const int version = checked_version(connection, file);
    for (int step = version; step < kSchemaVersion; ++step) {
      std::string_view statements = schema_migrations()[static_cast<size_t>(step)];
      while (!statements.empty()) {  // SOCI runs one statement at a time
        const size_t end = statements.find(';');
        connection.session() << std::string(statements.substr(0, end));
        statements.remove_prefix(end == std::string_view::npos ? statements.size() : end + 1);
      }
    }
    connection.session() << fmt::format("PRAGMA application_id = {}", kApplicationId);
    connection.session() << fmt::format("PRAGMA user_version = {}", kSchemaVersion);
  });
}

class SqlJournal final : public Journal {
 public:
  SqlJournal(const std::filesystem::path& file, std::shared_ptr<const JournalFile> held, Access access)
      : file_(file), held_(std::move(held)), access_(access), connection_(file, access) {
    connection_.guard([&] { connection_.session() << "PRAGMA cell_size_check = ON"; });
    if (access == Access::read_only) {
      detect_schema();
      return;
    }
    if (const auto mode = connection_.text("PRAGMA journal_mode = WAL"); mode != "wal") {
      fail(ErrorCode::database,
           "the journal's file system has no shared memory (mode '{}'), name a local file with --journal: '{}'", mode,
           file.string());
    }
    // FULL: each commit reaches the disk, so an announcement survives a power loss. NORMAL would survive kill -9, but
    // not a power loss; it saves about 0.15 ms per candidate, which takes milliseconds at least.
    connection_.guard([&] { connection_.session() << "PRAGMA synchronous = FULL"; });
    migrate(connection_, file);
  }

  void append(std::span<const Entry> entries) override {
    ATTUNE_CHECK(access_ == Access::read_write, "append to a journal that was opened for reading");
    if (entries.empty()) return;
    held_->check_in_place();
    std::vector<SqlRow> rows;
    for (const Entry& entry : entries) rows.emplace_back(entry);
    connection_.transaction([&] { insert(rows); });
  }

  int64_t begin_run(const RunBegin& run) override {
    ATTUNE_CHECK(access_ == Access::read_write, "a run in a journal that was opened for reading");
    held_->check_in_place();
    std::vector<SqlRow> rows;
    rows.emplace_back(Entry(run));
    connection_.transaction([&] {
      run_ = 0;
      insert(rows);
      long long id = 0;
      connection_.session() << "SELECT last_insert_rowid()", soci::into(id);
      connection_.session() << "UPDATE entries SET run = id WHERE id = :i", soci::use(id);
      run_ = id;
    });
    return run_;
  }

  void join_run(int64_t run) override { run_ = run; }

  size_t scan(const Query& query, const std::function<void(const Entry&, const Stamp&)>& visit) const override {
    refresh_schema();
    auto [condition, values] = condition_of(query, entries_ == kSchema1Entries);
    const std::string query_text = fmt::format("SELECT id, at_ms, run, payload FROM {} WHERE {}", entries_, condition);
    long long last = query.newest_first ? std::numeric_limits<long long>::max() : query.after;
    size_t num_damaged = 0, num_visited = 0;
    const auto take = [&](const Stamp& stamp, const std::string& payload) {
      last = stamp.id;
      const auto entry = read_entry(payload);
      if (!entry || !is_of_kind(*entry, query))
        ++num_damaged;
      else if (entries_ != kSchema1Entries || matches(query, *entry, stamp)) {
        visit(*entry, stamp);
        return ++num_visited != query.limit;
      }
      return true;
    };
    try {
      select(query_text + (query.newest_first ? " ORDER BY id DESC" : " ORDER BY id"), values, take);
    } catch (const JournalDamage&) {
      if (access_ != Access::read_only) throw;
      // A damaged page ends the scan; entries on other pages can still be read one by one.
      constexpr long long kMaxAsked = 1'000'000;  // the newest id may itself be damaged
      const long long newest = newest_id();
      const long long step = query.newest_first ? -1 : 1;
      const long long end = query.newest_first ? std::max<long long>(query.after, newest - kMaxAsked)
                                               : std::min(newest, last + kMaxAsked) + 1;
      bool goes_on = true;
      for (long long id = std::min(last + step, newest); goes_on && id * step < end * step; id += step) {
        try {
          select(query_text + fmt::format(" AND id = {}", id), values,
                 [&](const Stamp& stamp, const std::string& payload) { return goes_on = take(stamp, payload); });
        } catch (const JournalDamage&) {
          ++num_damaged;
        }
      }
    }
    return num_damaged;
  }

  EntryCounts count(const Query& query) const override {
    refresh_schema();
    if (empty_) return {};
    const bool is_schema_1 = entries_ == kSchema1Entries;
    // Schema 1 has no columns for these, and what is damaged is found by reading alone.
    if (is_schema_1 && !(query.stages.empty() && query.statuses.empty())) return count_by_reading(query);
    try {
      return count_rows(query, is_schema_1);
    } catch (const JournalDamage&) {
      if (access_ != Access::read_only) throw;
      return count_by_reading(query);
    }
  }

  bool is_in_place() const noexcept override { return held_->is_in_place(); }

  void visit_headings(const Query& query, const std::function<void(const EntryHeading&)>& visit) const override {
    refresh_schema();
    if (empty_) return;
    const bool is_schema_1 = entries_ == kSchema1Entries;
    const auto [condition, values] = condition_of(query, is_schema_1);
    EntryHeading heading;
    long long id = 0, at_ms = 0, run = 0;
    int kind = 0;
    size_t num_visited = 0;
    const auto take = [&] {
      heading.stamp = {id, at_ms, run};
      heading.kind = static_cast<EntryKind>(kind);
      visit(heading);
      return ++num_visited != query.limit;
    };
    const std::string index = query.fingerprint ? index_of(query, is_schema_1) : std::string();
    fetch(fmt::format("SELECT id, at_ms, run, kind, problem, device, fingerprint, solver, candidate, stage, status"
                      " FROM {}{} WHERE {} ORDER BY id{}",
                      entries_, index, condition, query.newest_first ? " DESC" : ""),
          values, take, id, at_ms, run, kind, heading.problem, heading.device, heading.fingerprint, heading.solver,
          heading.candidate, heading.stage, heading.status);
  }

  std::optional<Decision> decision(const Problem& problem, const std::string& fingerprint, const Versions& versions,
                                   const Protocol& protocol) const override {
    std::optional<Decision> found;
    if (entries_ == kSchema1Entries) return found;
    // The index is named because SQLite's planner prefers a scan by id for this order once it has statistics.
    select(
        "SELECT id, at_ms, run, payload FROM entries INDEXED BY decisions_by_problem"
        " WHERE kind = 2 AND problem = :p AND fingerprint = :f AND measured = :m AND searched = :s ORDER BY id DESC",
        {problem.key(), fingerprint, protocol.measured_key(), protocol.searched_key()},
        [&](const Stamp&, const std::string& payload) {
          auto entry = read_entry(payload);
          if (!entry || !is_of_kind(*entry, {.started = false, .records = false, .pardons = false})) return true;
          auto& one = std::get<Decision>(*entry);
          if (compare(one.versions, versions) != Age::current) return true;
          found = std::move(one);
          return false;
        });
    return found;
  }

  void compact() override {
    ATTUNE_CHECK(access_ == Access::read_write, "compaction of a journal that was opened for reading");
    connection_.transaction([&] {
      Compaction compaction;
      std::vector<long long> dropped;
      std::vector<std::pair<long long, std::string>> shorter;
      const auto judge = [&](const Stamp& stamp, const std::string& payload) {
        auto entry = read_entry(payload);
        const auto action = compaction.judge(*entry);
        if (action == Compaction::Action::drop) dropped.push_back(stamp.id);
        if (action == Compaction::Action::strip)
          shorter.emplace_back(stamp.id, entry_to_json(stripped(std::get<Record>(*std::move(entry)))));
        return true;
      };
      select("SELECT id, at_ms, run, payload FROM entries ORDER BY id DESC", {}, judge);
      soci::session& session = connection_.session();
      for (const long long id : dropped) session << "DELETE FROM entries WHERE id = :i", soci::use(id);
      for (const auto& [id, payload] : shorter)
        session << "UPDATE entries SET payload = :j WHERE id = :i", soci::use(payload), soci::use(id);
    });
    connection_.guard([&] {
      connection_.session() << "VACUUM";
      connection_.session() << "PRAGMA wal_checkpoint(TRUNCATE)";
    });
  }

 private:
  /// For readers: finds the schema.
  void detect_schema() const {
    const int version = checked_version(connection_, file_);
    empty_ = version == 0;
    entries_ = version == 1 ? kSchema1Entries : "entries";
  }
  /// A reader that has met an empty journal or an older schema looks whether a writer has changed that.
  void refresh_schema() const {
    if (access_ == Access::read_only && (empty_ || entries_ == kSchema1Entries)) detect_schema();
  }

  /// The newest id, or a larger one if its page is damaged.
  long long newest_id() const {
    try {
      return connection_.integer("SELECT max(id) FROM entries");
    } catch (const JournalDamage&) {
      if (entries_ == kSchema1Entries) throw;
      return connection_.integer("SELECT seq FROM sqlite_sequence WHERE name = 'entries'");
    }
  }

  EntryCounts count_by_reading(Query query) const {
    EntryCounts counts;
    query.limit = 0;
    scan(query, [&](const Entry& entry, const Stamp&) { add(counts, entry.index(), 1); });
    return counts;
  }

  EntryCounts count_rows(const Query& query, bool is_schema_1) const {
    const auto [condition, values] = condition_of(query, is_schema_1);
    const std::string index = index_of(query, is_schema_1);
    const std::string columns = index.empty()
                                    ? fmt::format("kind, count(*) FROM {} WHERE {} GROUP BY kind", entries_, condition)
                                    : fmt::format("2, count(*) FROM entries{} WHERE {}", index, condition);
    EntryCounts counts;
    int kind = 0;
    long long number = 0;
    const auto take = [&] {
      add(counts, static_cast<size_t>(kind), number);
      return true;
    };
    fetch("SELECT " + columns, values, take, kind, number);
    return counts;
  }

  void insert(const std::vector<SqlRow>& rows) {
    SqlRow row = rows.front();
    soci::statement statement =
        (connection_.session().prepare
             << "INSERT INTO entries (at_ms, run, kind, problem, device, fingerprint, measured, searched, solver,"
                " candidate, stage, status, payload)"
                " VALUES (:t, :r, :k, :p, :d, :f, :m, :s, :o, :c, :g, :u, :j)",
         soci::use(row.at_ms), soci::use(row.run), soci::use(row.kind), soci::use(row.heading.problem),
         soci::use(row.heading.device), soci::use(row.heading.fingerprint), soci::use(row.measured),
         soci::use(row.searched), soci::use(row.heading.solver), soci::use(row.heading.candidate),
         soci::use(row.heading.stage), soci::use(row.heading.status), soci::use(row.payload));
    for (const SqlRow& one : rows) {
      row = one;
      row.at_ms = unix_ms();
      row.run = run_;
      statement.execute(true);
    }
  }

  /// Runs a query for (id, at_ms, run, payload); `visit` returns false to stop.
  template <typename Visit>
  void select(const std::string& query, const std::vector<std::string>& values, Visit visit) const {
    if (empty_) return;
    long long id = 0, at_ms = 0, run = 0;
    std::string payload;
    const auto take = [&] { return visit(Stamp{id, at_ms, run}, payload); };
    fetch(query, values, take, id, at_ms, run, payload);
  }

  /// Runs a query with the values of its parameters. Each row is written to `columns`, then `take` is called, which
  /// returns false to stop.
  template <typename Take, typename... Columns>
  void fetch(const std::string& query, const std::vector<std::string>& values, Take take, Columns&... columns) const {
    soci::statement statement(connection_.session());
    connection_.guard([&] {
      for (const std::string& value : values) statement.exchange(soci::use(value));
      (statement.exchange(soci::into(columns)), ...);
      statement.alloc();
      statement.prepare(query);
      statement.define_and_bind();
      statement.execute(false);
    });
    while (connection_.guard([&] { return statement.fetch(); })) {
      if (!take()) return;
    }
  }

  /// True if an entry is of a requested kind. A row whose payload is of another kind than its column is damaged.
  bool is_of_kind(const Entry& entry, const Query& query) const {
    const std::array<bool, 6> wanted = {query.started, query.records, query.decisions,
                                        query.pardons, query.runs,    query.runs};
    if (wanted.at(entry.index())) return true;
    if (access_ != Access::read_only) connection_.fail_damaged();
    return false;
  }

  /// Returns nullopt for a damaged entry of a read-only journal; otherwise throws.
  std::optional<Entry> read_entry(const std::string& payload) const {
    try {
      return entry_from_json(payload);
    } catch (const Error&) {
      if (access_ != Access::read_only) connection_.fail_damaged();
      return std::nullopt;
    }
  }

  std::filesystem::path file_;
  std::shared_ptr<const JournalFile> held_;  ///< Must outlive the connection.
  Access access_;
  mutable Connection connection_;
  mutable std::string_view entries_ = "entries";  ///< Table or query to select from.
  int64_t run_ = 0;                               ///< Run of the entries to come.
  mutable bool empty_ = false;                    ///< True for a reader before anything is written.
};

}  // namespace

std::unique_ptr<Journal> open_sql_journal(const std::filesystem::path& file) {
  return std::make_unique<SqlJournal>(file, JournalFile::claim(file), Access::read_write);
}

std::unique_ptr<Journal> open_sql_journal_read_only(const std::filesystem::path& file) {
  return std::make_unique<SqlJournal>(file, JournalFile::find(file), Access::read_only);
}

}  // namespace attune
