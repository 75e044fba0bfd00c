// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "store/compaction.h"
#include "store/entry_json.h"
#include "store/journal.h"
#include "store/journal_copy.h"
#include "store/journal_file.h"
#include "store/outcome_scan.h"
#include "store/sql_condition.h"
#include "store/sql_connection.h"
#include "store/sql_schema.h"

namespace attune {
namespace {

constexpr int kApplicationId = static_cast<int>(kJournalApplicationId);
/// Checks the application id and returns the version.
int checked_version(SqlConnection& connection, const std::filesystem::path& file) {
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

void migrate(SqlConnection& connection, const std::filesystem::path& file) {
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
  SqlJournal(const std::filesystem::path& file, std::shared_ptr<const JournalFile> held, SqlAccess access,
             std::unique_ptr<JournalCopy> copy = nullptr)
      : file_(file),
        held_(std::move(held)),
        access_(access),
        copy_(std::move(copy)),
        connection_(copy_ ? copy_->file() : file, copy_ ? SqlAccess::read_own : access, file) {
    connection_.guard([&] { connection_.session() << "PRAGMA cell_size_check = ON"; });
    if (access == SqlAccess::read_only) {
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
    ATTUNE_CHECK(access_ == SqlAccess::read_write, "append to a journal that was opened for reading");
    if (entries.empty()) return;
    held_->check_in_place();
    std::vector<SqlRow> rows;
    for (const Entry& entry : entries) rows.emplace_back(entry);
    connection_.transaction([&] { insert(rows); });
  }

  int64_t begin_run(const RunBegin& run) override {
    ATTUNE_CHECK(access_ == SqlAccess::read_write, "a run in a journal that was opened for reading");
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
    auto where = condition_of(query, entries_ == kSchema1Entries);
    // What an index finds is sorted by id, and SQLite would hold all payloads until then.
    if (query.problem) where.first = fmt::format("id IN (SELECT id FROM {} WHERE {})", entries_, where.first);
    size_t num_visited = 0;
    return read_past_damage(query, [&](ScanPlace& place, const std::string& tail) {
      const auto take = [&](const Stamp& stamp, const std::string& payload) {
        place.last_id = stamp.id;
        const auto entry = read_entry(payload);
        if (!entry || !is_of_kind(*entry, query))
          ++place.num_damaged;
        else if (entries_ != kSchema1Entries || matches(query, *entry, stamp)) {
          visit(*entry, stamp);
          return ++num_visited != query.limit;
        }
        return true;
      };
      return select(fmt::format("SELECT id, at_ms, run, payload FROM {} WHERE {}{}", entries_, where.first, tail),
                    where.second, take);
    });
  }

  size_t visit_outcomes(const Query& query, const OutcomeVisitor& visit) const override {
    refresh_schema();
    if (empty_) return 0;
    if (entries_ == kSchema1Entries) return visit_scanned_outcomes(*this, query, visit);  // It has no such columns.
    const auto where = condition_of(records_of(query), false);
    size_t num_visited = 0;
    return read_past_damage(query, [&](ScanPlace& place, const std::string& tail) {
      EntryHeading heading{.kind = EntryKind::record};
      long long id = 0, at_ms = 0, run = 0;
      std::string payload;
      const auto take = [&] {
        place.last_id = id;
        const auto outcome = read_outcome(payload);
        if (!outcome) {
          ++place.num_damaged;
          return true;
        }
        heading.stamp = {id, at_ms, run};
        visit(heading, *outcome);
        return ++num_visited != query.limit;
      };
      return fetch(fmt::format("SELECT id, at_ms, run, problem, device, fingerprint, solver, candidate, stage, status,"
                               " payload FROM entries WHERE {}{}",
                               where.first, tail),
                   where.second, take, id, at_ms, run, heading.problem, heading.device, heading.fingerprint,
                   heading.solver, heading.candidate, heading.stage, heading.status, payload);
    });
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
      if (access_ != SqlAccess::read_only) throw;
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
    ATTUNE_CHECK(access_ == SqlAccess::read_write, "compaction of a journal that was opened for reading");
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
    if (access_ == SqlAccess::read_only && (empty_ || entries_ == kSchema1Entries)) detect_schema();
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

  /// Where a scan has come to.
  struct ScanPlace {
    long long last_id = 0;
    size_t num_damaged = 0;
  };

  /// Reads rows in a query's order by `read(place, tail)`, whose statement ends with the tail and which returns whether
  /// it goes on. A damaged page ends a statement; readers then read the entries of other pages one by one. Returns the
  /// number of damaged entries.
  template <typename Read>
  size_t read_past_damage(const Query& query, Read read) const {
    ScanPlace place{.last_id = query.newest_first ? std::numeric_limits<long long>::max() : query.after};
    try {
      read(place, query.newest_first ? " ORDER BY id DESC" : " ORDER BY id");
    } catch (const JournalDamage&) {
      if (access_ != SqlAccess::read_only) throw;
      constexpr long long kMaxAsked = 1'000'000;  // the newest id may itself be damaged
      const long long newest = newest_id();
      const long long step = query.newest_first ? -1 : 1;
      const long long end = query.newest_first ? std::max<long long>(query.after, newest - kMaxAsked)
                                               : std::min(newest, place.last_id + kMaxAsked) + 1;
      bool goes_on = true;
      for (long long id = std::min(place.last_id + step, newest); goes_on && id * step < end * step; id += step) {
        try {
          goes_on = read(place, fmt::format(" AND id = {}", id));
        } catch (const JournalDamage&) {
          ++place.num_damaged;
        }
      }
    }
    return place.num_damaged;
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

  /// The statement that writes a row, compiled once: a run writes thousands, one at a time, while its device waits.
  struct Insertion {
    Insertion(soci::session& session, SqlRow first)
        : row(std::move(first)),
          statement((session.prepare
                         << "INSERT INTO entries (at_ms, run, kind, problem, device, fingerprint, measured, searched,"
                            " solver, candidate, stage, status, payload)"
                            " VALUES (:t, :r, :k, :p, :d, :f, :m, :s, :o, :c, :g, :u, :j)",
                     soci::use(row.at_ms), soci::use(row.run), soci::use(row.kind), soci::use(row.heading.problem),
                     soci::use(row.heading.device), soci::use(row.heading.fingerprint), soci::use(row.measured),
                     soci::use(row.searched), soci::use(row.heading.solver), soci::use(row.heading.candidate),
                     soci::use(row.heading.stage), soci::use(row.heading.status), soci::use(row.payload))) {}

    SqlRow row;  ///< The statement reads it.
    soci::statement statement;
  };

  void insert(std::vector<SqlRow>& rows) {
    try {
      if (!insertion_) insertion_ = std::make_unique<Insertion>(connection_.session(), rows.front());
      for (SqlRow& one : rows) {
        one.at_ms = unix_ms();
        one.run = run_;
        insertion_->row = one;
        insertion_->statement.execute(true);
      }
    } catch (...) {
      insertion_.reset();  // No row is written with what an error left behind.
      throw;
    }
  }

  /// Runs a query for (id, at_ms, run, payload); `visit` returns false to stop. Returns false if it did.
  template <typename Visit>
  bool select(const std::string& query, const std::vector<std::string>& values, Visit visit) const {
    if (empty_) return true;
    long long id = 0, at_ms = 0, run = 0;
    std::string payload;
    const auto take = [&] { return visit(Stamp{id, at_ms, run}, payload); };
    return fetch(query, values, take, id, at_ms, run, payload);
  }

  /// Runs a query with the values of its parameters. Each row is written to `columns`, then `take` is called, which
  /// returns false to stop. Returns false if it did.
  template <typename Take, typename... Columns>
  bool fetch(const std::string& query, const std::vector<std::string>& values, Take take, Columns&... columns) const {
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
      if (!take()) return false;
    }
    return true;
  }

  /// True if an entry is of a requested kind. A row whose payload is of another kind than its column is damaged.
  bool is_of_kind(const Entry& entry, const Query& query) const {
    const std::array<bool, 7> wanted = {query.started, query.records, query.decisions, query.pardons,
                                        query.runs,    query.runs,    query.bans};
    static_assert(std::variant_size_v<Entry> == std::tuple_size_v<decltype(wanted)>);
    if (wanted.at(entry.index())) return true;
    if (access_ != SqlAccess::read_only) connection_.fail_damaged();
    return false;
  }

  /// Returns nullopt for a damaged entry of a read-only journal; otherwise throws.
  std::optional<Entry> read_entry(const std::string& payload) const {
    try {
      return entry_from_json(payload);
    } catch (const Error&) {
      if (access_ != SqlAccess::read_only) connection_.fail_damaged();
      return std::nullopt;
    }
  }

  /// The same for a record's outcome.
  std::optional<Outcome> read_outcome(const std::string& payload) const {
    try {
      return outcome_from_json(payload);
    } catch (const Error&) {
      if (access_ != SqlAccess::read_only) connection_.fail_damaged();
      return std::nullopt;
    }
  }

  std::filesystem::path file_;
  std::shared_ptr<const JournalFile> held_;  ///< Must outlive the connection.
  SqlAccess access_;
  std::unique_ptr<JournalCopy>
      copy_;  ///< What is read in place of the file; null: the file itself. Outlives the connection.
  mutable SqlConnection connection_;
  std::unique_ptr<Insertion> insertion_;          ///< Null before the first row. The connection must outlive it.
  mutable std::string_view entries_ = "entries";  ///< Table or query to select from.
  int64_t run_ = 0;                               ///< Run of the entries to come.
  mutable bool empty_ = false;                    ///< True for a reader before anything is written.
};

}  // namespace

std::unique_ptr<Journal> open_sql_journal(const std::filesystem::path& file) {
  auto held = JournalFile::claim(file);
  held->check_locks();
  return std::make_unique<SqlJournal>(file, std::move(held), SqlAccess::read_write);
}

std::unique_ptr<Journal> open_sql_journal_read_only(const std::filesystem::path& file) {
  const auto held = JournalFile::find(file);
  try {
    if (held->grants_locks()) return std::make_unique<SqlJournal>(file, held, SqlAccess::read_only);
  } catch (const JournalInaccessible&) {
    // SQLite cannot write its own files beside it.
  }
  return std::make_unique<SqlJournal>(file, held, SqlAccess::read_only, std::make_unique<JournalCopy>(file));
}

}  // namespace attune
