// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "store/fleet/fleet_dialect.h"
#include "store/fleet/fleet_sql.h"

namespace attune {
namespace {

constexpr FleetDialect::Words kSqliteWords = {
    .product = "SQLite",
    .backend = "sqlite3",
    .package = "libsoci-sqlite3-4.0",
    .now = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)",
    .tls_query = "",
    .last_id = "SELECT last_insert_rowid()",
    .insert_new = "INSERT INTO",
    .or_nothing = " ON CONFLICT DO NOTHING",
    .on_conflict = " ON CONFLICT ({}) DO UPDATE SET ",
    .new_value = "excluded.{}",
    .for_update = "",  // A transaction excludes other writers.
    .bytes = "x'{}'",
    .hex = "hex({})",
    .by_configuration = "",
    .by_id = "",
    .analyse = "",
    .num_tables = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND ('{0}' = '' OR name = '{0}')",
};

constexpr FleetDialect::Types kSqliteTypes = {
    .serial = "INTEGER PRIMARY KEY AUTOINCREMENT",
    .integer = "INTEGER",
    .name = "TEXT",
    .text = "TEXT",
    .real = "DOUBLE",
    .bytes = "BLOB",
    .table_end = "",
};

class SqliteDialect final : public FleetDialect {
 public:
  SqliteDialect() : FleetDialect(kSqliteWords, kSqliteTypes) {}

  std::vector<std::string> indexes() const override {
    return {"CREATE INDEX IF NOT EXISTS tag_of_configuration ON tag (configuration)",
            "CREATE INDEX IF NOT EXISTS job_to_claim ON job (session, state, step, not_before, id)"};
  }
  std::string connect_string(const StoreAddress&) const override { return {}; }  // SqlConnection opens it.
  std::vector<std::string> settings() const override { return {}; }
  std::vector<std::string> begin_reading() const override { return {"BEGIN"}; }
  std::string lock_migrations() const override { return {}; }
  SqlFault fault_of(std::string_view, bool) const override { return SqlFault::other; }

  /// One statement, which must have ended before the commit. The index is named because ANALYZE may lead the planner
  /// to a scan of the table.
  std::vector<LeasedJob> lease(FleetSql& sql, const LeaseRequest& request, LeaseCursor&) const override {
    std::vector<LeasedJob> leased;
    sql.each<long long, std::string, std::string, long long, long long>(
        fmt::format("UPDATE job SET state = 'leased', lease_token = lease_token + 1, lease_until = {0} + :lease,"
                    " agent = :agent WHERE id IN (SELECT j.id FROM job j INDEXED BY job_to_claim WHERE j.session = :s"
                    " AND j.state = 'queued' AND j.step = :t AND j.not_before <= {0} AND EXISTS (SELECT 1 FROM"
                    " tuning_session o WHERE o.id = :s2 AND o.state = 'open') ORDER BY j.not_before, j.id LIMIT :max)"
                    " RETURNING id, configuration, solver, lease_token, attempts",
                    words.now),
        [&](long long id, const std::string& configuration, const std::string& solver, long long token,
            long long attempts) {
          leased.push_back({id, configuration, solver, token, attempts});
        },
        request.lease_ms, request.agent, request.session, name(request.step), request.session, request.max_count);
    return leased;
  }
};

}  // namespace

const FleetDialect& sqlite_dialect() {
  static const SqliteDialect dialect;
  return dialect;
}

}  // namespace attune
