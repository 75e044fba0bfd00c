// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/fleet/fleet_job.h"
#include "store/fleet/store_address.h"

namespace attune {

class FleetSql;

/// What an error of a database means for the connection.
enum class SqlFault : uint8_t {
  lost,       ///< The server is away, or has ended the connection. Later it may answer.
  conflict,   ///< Another transaction was in the way; the same transaction may be repeated.
  duplicate,  ///< A row with this key is there. Of another program: repeated, the same transaction finds it.
  refused,    ///< The server does not let this user in, or has no such database.
  full,       ///< The server's disk is full.
  other,
};

/// Which jobs to lease.
struct LeaseRequest {
  int64_t session = 0;
  FleetStep step = FleetStep::perf_eval;
  std::string agent;
  size_t max_count = 0;
  long long lease_ms = 0;
};

/// A job that was leased.
struct LeasedJob {
  long long id = 0;
  std::string configuration, solver;
  long long token = 0, attempts = 0;
};

/// Where the last lease of each step was found, for databases that search from there. One for each connection.
using LeaseCursor = std::map<FleetStep, long long>;

/// What differs between databases; everything else of a fleet's store is plain SQL. Stateless.
class FleetDialect {
 public:
  /// Words of statements. `{}` stands for a name or a value.
  struct Words {
    std::string_view product;  ///< `PostgreSQL`
    std::string_view backend;  ///< SOCI's name of it.
    std::string_view package;  ///< Debian's package of that backend.
    /// The database's time, in milliseconds since 1970: agents of several machines share no other clock.
    std::string_view now;
    std::string_view tls_query;  ///< Gives 1 if the connection is encrypted, else 0.
    std::string_view last_id;    ///< The id that the last INSERT of this connection gave.
    /// `INSERT INTO`, which leaves out rows that are there if the statement ends in `or_nothing`.
    std::string_view insert_new, or_nothing;
    std::string_view on_conflict;  ///< Of the key columns {}: `SET`s of the row that is there follow.
    std::string_view new_value;    ///< The value of column {} that an INSERT was to store.
    std::string_view for_update;   ///< Ends a SELECT: locks its rows until the transaction ends.
    std::string_view bytes;        ///< Bytes given as hexadecimal digits {}.
    std::string_view hex;          ///< The hexadecimal digits of the bytes in {}.
    /// After a table `job x` whose rows are sought by session and configuration, or by their ids: names that index.
    std::string_view by_configuration, by_id;
    std::string_view analyse;     ///< Counts the rows of table {} for the planner; empty: it needs no such call.
    std::string_view num_tables;  ///< How many tables of the name {0} the database has; of an empty name: of all.
  };
  /// Types of columns in the tables of docs/formats/fleet_store.md.
  struct Types {
    std::string_view serial;   ///< A number that the database counts; the key.
    std::string_view integer;  ///< 64 bits.
    std::string_view name;     ///< A short text that keys hold, compared byte by byte.
    std::string_view text, real, bytes;
    std::string_view table_end;  ///< After a table's columns.
  };

  virtual ~FleetDialect() = default;
  const Words words;
  const Types types;

  /// The `CREATE INDEX` statements.
  virtual std::vector<std::string> indexes() const = 0;
  /// What SOCI opens.
  virtual std::string connect_string(const StoreAddress& address) const = 0;
  /// What a new connection runs first.
  virtual std::vector<std::string> settings() const = 0;
  /// Begins a transaction whose readers see one state of the store.
  virtual std::vector<std::string> begin_reading() const = 0;
  /// Keeps other migrations out until unlock; empty: the transaction does.
  virtual std::string lock_migrations() const = 0;
  virtual std::string unlock_migrations() const { return ""; }
  /// Why a server of this version, as `SELECT VERSION()` gives it, cannot be used; empty: it can.
  virtual std::string why_unusable(std::string_view) const { return ""; }
  /// `is_open`: whether the connection was there before.
  virtual SqlFault fault_of(std::string_view message, bool is_open) const = 0;
  /// The part of a message that says the reason.
  virtual std::string reason_of(std::string_view message) const { return std::string(message); }
  /// Leases up to `max_count` queued jobs that may begin, in a transaction of the caller.
  virtual std::vector<LeasedJob> lease(FleetSql& sql, const LeaseRequest& request, LeaseCursor& cursor) const = 0;

 protected:
  FleetDialect(const Words& own_words, const Types& own_types) : words(own_words), types(own_types) {}
};

const FleetDialect& sqlite_dialect();
const FleetDialect& mariadb_dialect();
const FleetDialect& postgresql_dialect();
const FleetDialect& dialect_of(DatabaseKind kind);

/// A text as a value of SOCI's connection strings.
std::string quoted_parameter(std::string_view name, std::string_view value);

}  // namespace attune
