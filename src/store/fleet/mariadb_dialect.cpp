// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "store/fleet/fleet_dialect.h"
#include "store/fleet/fleet_sql.h"

namespace attune {
namespace {

constexpr FleetDialect::Words kMariadbWords = {
    .product = "MariaDB",
    .backend = "mysql",
    .package = "libsoci-mysql4.0",
    .now = "CAST(ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) AS SIGNED)",
    .tls_query =
        "SELECT count(*) FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = 'SSL_CIPHER'"
        " AND VARIABLE_VALUE <> ''",
    .last_id = "SELECT LAST_INSERT_ID()",
    .insert_new = "INSERT IGNORE INTO",
    .or_nothing = "",
    .on_conflict = " ON DUPLICATE KEY UPDATE ",
    .new_value = "VALUES({})",
    .for_update = " FOR UPDATE",
    .bytes = "x'{}'",
    .hex = "HEX({})",
    // Its planner does not know of rows that the same transaction has added.
    .by_configuration = " FORCE INDEX (session)",
    .by_id = " FORCE INDEX (PRIMARY)",
    .analyse = "",
    .num_tables =
        "SELECT count(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()"
        " AND ('{0}' = '' OR TABLE_NAME = '{0}')",
};

constexpr FleetDialect::Types kMariadbTypes = {
    .serial = "BIGINT AUTO_INCREMENT PRIMARY KEY",
    .integer = "BIGINT",
    .name = "VARCHAR(255)",
    .text = "LONGTEXT",
    .real = "DOUBLE",
    .bytes = "LONGBLOB",
    // Its other collations fold cases or ignore blanks at the end.
    .table_end = " ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin",
};

bool contains_any(std::string_view text, const auto& parts) {
  return std::ranges::any_of(parts, [&](std::string_view one) { return text.find(one) != std::string_view::npos; });
}

class MariadbDialect final : public FleetDialect {
 public:
  MariadbDialect() : FleetDialect(kMariadbWords, kMariadbTypes) {}

  /// No index has `job.state`: claims would wait for each other's entries of it. job_open is changed when a job ends.
  std::vector<std::string> indexes() const override {
    return {"CREATE INDEX IF NOT EXISTS tag_of_configuration ON tag (configuration)",
            "CREATE INDEX IF NOT EXISTS job_open ON job (session, step, not_before, id)",
            "CREATE INDEX IF NOT EXISTS job_leases ON job (session, lease_until)"};
  }

  std::string connect_string(const StoreAddress& address) const override {
    // The library takes `localhost` for a socket, even with a port.
    const bool is_port_of_localhost = address.host == "localhost" && address.port != 0;
    std::string text = quoted_parameter("host", is_port_of_localhost ? "127.0.0.1" : address.host);
    if (!address.socket.empty()) text = quoted_parameter("unix_socket", address.socket);
    if (address.port != 0) text += fmt::format("port={} ", address.port);
    text += quoted_parameter("user", address.user) + quoted_parameter("dbname", address.database);
    if (!address.password.empty()) text += quoted_parameter("password", address.password);
    // The library encrypts when it is given certificates.
    if (address.requires_tls)
      text +=
          quoted_parameter("sslca", address.ca_file.empty() ? "/etc/ssl/certs/ca-certificates.crt" : address.ca_file);
    return text + "charset=utf8mb4 connect_timeout=2";
  }

  std::vector<std::string> settings() const override {
    return {"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            // Else it makes tables of all jobs for an EXISTS that an index answers.
            "SET SESSION optimizer_switch = 'exists_to_in=off'",
            "SET SESSION time_zone = '+00:00', lc_messages = 'en_US', innodb_lock_wait_timeout = 10,"
            " sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'"};
  }

  std::vector<std::string> begin_reading() const override {
    return {"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"};
  }

  std::string lock_migrations() const override {
    return "SELECT GET_LOCK(CONCAT('attune.', LEFT(DATABASE(), 50)), 60)";
  }
  std::string unlock_migrations() const override {
    return "SELECT RELEASE_LOCK(CONCAT('attune.', LEFT(DATABASE(), 50)))";
  }

  std::string why_unusable(std::string_view version) const override {
    if (version.find("MariaDB") != std::string_view::npos) return "";
    return fmt::format("it is MySQL {}, which lacks SQL of MariaDB that the store needs", shown(version, 40));
  }

  SqlFault fault_of(std::string_view message, bool is_open) const override {
    constexpr std::array<std::string_view, 11> kLost = {"gone away",
                                                        "Unknown server host",
                                                        "Unknown MySQL server host",  // A name server may be away, too.
                                                        "Lost connection",
                                                        "Can't connect",
                                                        "Connection was killed",
                                                        "shutdown in progress",
                                                        "Too many connections",
                                                        "Connection refused",
                                                        "WSREP has not yet prepared",
                                                        "execution was interrupted"};
    constexpr std::array<std::string_view, 3> kConflicts = {
        "try restarting transaction",
        "Failed to read auto-increment value",  // Several loads at once.
        "changed since last read"};
    constexpr std::array<std::string_view, 4> kFull = {"No space left", "Disk full", "is full", "Errcode: 28"};
    if (contains_any(message, kFull)) return SqlFault::full;
    if (contains_any(message, kConflicts)) return SqlFault::conflict;
    if (contains_any(message, kLost)) return SqlFault::lost;
    if (message.find("Duplicate entry") != std::string_view::npos) return SqlFault::duplicate;
    return is_open ? SqlFault::other : SqlFault::refused;
  }

  std::vector<LeasedJob> lease(FleetSql& sql, const LeaseRequest& request, LeaseCursor& cursor) const override {
    if (sql.number("SELECT count(*) FROM tuning_session WHERE id = :s AND state = 'open'", request.session) == 0)
      return {};
    long long& last = cursor[request.step];
    auto leased = locked(sql, request, fmt::format("j.not_before = 0 AND j.id > {}", last));
    // Jobs before the cursor may have been queued again.
    if (leased.empty() && std::exchange(last, 0) > 0) leased = locked(sql, request, "j.not_before = 0");
    if (!leased.empty())
      last = leased.back().id;
    else  // Retries wait for their time.
      leased = locked(sql, request, fmt::format("j.not_before > 0 AND j.not_before <= {}", words.now));
    if (leased.empty()) return {};
    std::vector<std::string> ids;
    for (const LeasedJob& one : leased) ids.push_back(std::to_string(one.id));
    sql.run(fmt::format("UPDATE job SET state = 'leased', lease_token = lease_token + 1, lease_until = {} + :l,"
                        " agent = :a WHERE id IN ({})",
                        words.now, join(ids, ",")),
            request.lease_ms, request.agent);
    return leased;
  }

 private:
  /// Locks queued jobs, with the tokens that they get.
  static std::vector<LeasedJob> locked(FleetSql& sql, const LeaseRequest& request, const std::string& condition) {
    std::vector<LeasedJob> found;
    sql.each<long long, std::string, std::string, long long, long long>(
        fmt::format("SELECT j.id, j.configuration, j.solver, j.lease_token + 1, j.attempts FROM job j"
                    " FORCE INDEX (job_open) WHERE j.session = :s AND j.step = :t AND {} AND j.state = 'queued'"
                    " ORDER BY j.not_before, j.id LIMIT :max FOR UPDATE SKIP LOCKED",
                    condition),
        [&](long long id, const std::string& configuration, const std::string& solver, long long token,
            long long attempts) {
          found.push_back({id, configuration, solver, token, attempts});
        },
        request.session, name(request.step), request.max_count);
    return found;
  }
};

}  // namespace

const FleetDialect& mariadb_dialect() {
  static const MariadbDialect dialect;
  return dialect;
}

}  // namespace attune
