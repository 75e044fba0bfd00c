// SPDX-License-Identifier: MIT
#include "store/fleet/fleet_schema.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "attune/version.h"
#include "base/error.h"
#include "store/fleet/fleet_file.h"

namespace attune {
namespace {

/// Times are milliseconds since 1970; flags are 0 or 1; a text that is not known is empty. {serial}, {int}, {name},
/// {text}, {real}, {bytes}: types of the dialect. IF NOT EXISTS: MariaDB cannot take a half-done migration back.
constexpr std::array<std::string_view, 4> kFleetMigrations = {
    "CREATE TABLE IF NOT EXISTS schema_version (number {int} PRIMARY KEY, applied_at {int} NOT NULL,"
    " program {name} NOT NULL){end};"
    "CREATE TABLE IF NOT EXISTS environment (id {name} PRIMARY KEY, fingerprint {text} NOT NULL, device {text} NOT "
    "NULL,"
    " versions {text} NOT NULL, variables {text} NOT NULL){end};"
    "CREATE TABLE IF NOT EXISTS configuration (number {serial}, id {name} NOT NULL UNIQUE, op {name} NOT NULL,"
    " problem {text} NOT NULL, source {text} NOT NULL, added_at {int} NOT NULL){end};"
    "CREATE TABLE IF NOT EXISTS tag (name {name} NOT NULL, configuration {name} NOT NULL, recurrent {int} NOT NULL,"
    " PRIMARY KEY (name, configuration)){end};"
    "CREATE TABLE IF NOT EXISTS solver (id {name} NOT NULL, version {name} NOT NULL, op {name} NOT NULL,"
    " tunable {int} NOT NULL, title {text} NOT NULL, present {int} NOT NULL, PRIMARY KEY (id, version, op)){end};"
    "CREATE TABLE IF NOT EXISTS tuning_session (id {serial}, environment {name} NOT NULL, reason {name} NOT NULL,"
    " solvers {name} NOT NULL, created_by {text} NOT NULL, created_at {int} NOT NULL, state {name} NOT NULL,"
    " UNIQUE (environment, reason, solvers)){end};"
    "CREATE TABLE IF NOT EXISTS session_solver (session {int} NOT NULL, solver {name} NOT NULL, op {name} NOT NULL,"
    " version {name} NOT NULL, PRIMARY KEY (session, solver, op)){end};"
    "CREATE TABLE IF NOT EXISTS applicability (session {int} NOT NULL, configuration {name} NOT NULL,"
    " solver {name} NOT NULL, applicable {int} NOT NULL, reason {text} NOT NULL,"
    " PRIMARY KEY (session, configuration, solver)){end};"
    "CREATE TABLE IF NOT EXISTS job (id {serial}, session {int} NOT NULL, configuration {name} NOT NULL,"
    " step {name} NOT NULL, solver {name} NOT NULL, reason {text} NOT NULL, state {name} NOT NULL,"
    " class {name} NOT NULL, detail {text} NOT NULL, attempts {int} NOT NULL, lease_token {int} NOT NULL,"
    " lease_until {int} NOT NULL, not_before {int} NOT NULL, agent {name} NOT NULL, requires {int} NOT NULL,"
    " UNIQUE (session, configuration, step, solver)){end};"
    "CREATE TABLE IF NOT EXISTS attempt (job {int} NOT NULL, token {int} NOT NULL, agent {name} NOT NULL,"
    " began {int} NOT NULL, ended {int} NOT NULL, class {name} NOT NULL, detail {text} NOT NULL,"
    " PRIMARY KEY (job, token)){end};"
    "CREATE TABLE IF NOT EXISTS result (job {int} NOT NULL, ordinal {int} NOT NULL, solver {name} NOT NULL,"
    " candidate {text} NOT NULL, median_us {real} NOT NULL, workspace {int} NOT NULL, PRIMARY KEY (job, ordinal)){end};"
    "CREATE TABLE IF NOT EXISTS shortlist (session {int} NOT NULL, configuration {name} NOT NULL,"
    " solver {name} NOT NULL, ordinal {int} NOT NULL, candidate {text} NOT NULL, median_us {real} NOT NULL,"
    " workspace {int} NOT NULL, PRIMARY KEY (session, configuration, solver, ordinal)){end};"
    "CREATE TABLE IF NOT EXISTS decision (session {int} NOT NULL, configuration {name} NOT NULL, job {int} NOT NULL,"
    " decided_at {int} NOT NULL, winner {text} NOT NULL, baseline {text} NOT NULL, ratio {real} NOT NULL,"
    " verdict {name} NOT NULL, payload {text} NOT NULL, PRIMARY KEY (session, configuration)){end};"
    "CREATE TABLE IF NOT EXISTS kernel (job {int} NOT NULL, name {name} NOT NULL, arguments {text} NOT NULL,"
    " sha256 {name} NOT NULL, PRIMARY KEY (job, name)){end};"
    "CREATE TABLE IF NOT EXISTS kernel_bytes (sha256 {name} PRIMARY KEY, size {int} NOT NULL,"
    " bytes {bytes} NOT NULL){end};"
    "CREATE TABLE IF NOT EXISTS event (id {serial}, at {int} NOT NULL, session {int} NOT NULL, job {int} NOT NULL,"
    " agent {name} NOT NULL, kind {name} NOT NULL, text {text} NOT NULL){end};",
    // Golden sets and foreign results.
    "CREATE TABLE IF NOT EXISTS golden (version {int} NOT NULL, device {name} NOT NULL, configuration {name} NOT NULL,"
    " fingerprint {name} NOT NULL, session {int} NOT NULL, added_at {int} NOT NULL, median_us {real} NOT NULL,"
    " payload {text} NOT NULL, PRIMARY KEY (version, device, configuration)){end};"
    "CREATE TABLE IF NOT EXISTS golden_kernel (version {int} NOT NULL, device {name} NOT NULL,"
    " configuration {name} NOT NULL, name {name} NOT NULL, arguments {text} NOT NULL, sha256 {name} NOT NULL,"
    " PRIMARY KEY (version, device, configuration, name)){end};"
    "CREATE TABLE IF NOT EXISTS foreign_result (configuration {name} NOT NULL, source {name} NOT NULL,"
    " solver {name} NOT NULL, algorithm {name} NOT NULL, time_ms {name} NOT NULL, workspace {name} NOT NULL,"
    " params {text} NOT NULL, PRIMARY KEY (configuration, source, solver)){end};",
    // Kernels that agents share.
    "CREATE TABLE IF NOT EXISTS built_kernel (arch {name} NOT NULL, recipe {name} NOT NULL, toolchain {name} NOT NULL,"
    " sha256 {name} NOT NULL, metadata {text} NOT NULL, built_at {int} NOT NULL,"
    " PRIMARY KEY (arch, recipe, toolchain)){end};"
    "CREATE TABLE IF NOT EXISTS wanted_kernel (job {int} NOT NULL, digest {name} NOT NULL, round {int} NOT NULL,"
    " problem {text} NOT NULL, candidate {text} NOT NULL, PRIMARY KEY (job, digest)){end};",
    // Where sessions come from.
    "CREATE TABLE IF NOT EXISTS session_custody (session {int} PRIMARY KEY, image {text} NOT NULL,"
    " ticket {name} NOT NULL, source {name} NOT NULL){end};",
};
static_assert(kFleetMigrations.size() == kFleetSchemaVersion);

class FleetMigration {
 public:
  explicit FleetMigration(FleetConnection& connection) : connection_(connection), dialect_(connection.dialect()) {}

  void check() {
    const int version = checked_version();
    if (version != kFleetSchemaVersion)
      fail(ErrorCode::invalid_input,
           "the fleet's store has schema {} and this program {}, attune session list brings it up to date: '{}'",
           version, kFleetSchemaVersion, named());
  }

  void run() {
    // Before anything is written: the database may be another program's.
    const bool is_current = checked_version() == kFleetSchemaVersion;
    if (connection_.file() != nullptr) turn_wal_on();
    if (is_current) return;
    // GET_LOCK is the connection's, not the transaction's.
    const std::string unlock = dialect_.unlock_migrations();
    if (!unlock.empty() && number(dialect_.lock_migrations()) != 1)
      fail(ErrorCode::invalid_input,
           "another program keeps the tables of the fleet's store locked, try again later: '{}'", named());
    connection_.transaction([&] {
      if (unlock.empty() && !dialect_.lock_migrations().empty()) connection_.session() << dialect_.lock_migrations();
      // Another process may have migrated while this one waited for the lock.
      for (int step = checked_version(); step < kFleetSchemaVersion; ++step) apply(step);
      if (connection_.file() != nullptr)
        connection_.session() << fmt::format("PRAGMA application_id = {}", kFleetApplicationId);
    });
    if (!unlock.empty()) number(unlock);
  }

 private:
  std::string named() const { return connection_.address().shown(); }
  long long number(const std::string& query) {
    long long found = 0;
    connection_.guard([&] { connection_.session() << query, soci::into(found); });
    return found;
  }

  void execute(const std::string& statement) {
    connection_.guard([&] { connection_.session() << statement; });
  }

  long long num_tables(const char* name) { return number(fmt::format(fmt::runtime(dialect_.words.num_tables), name)); }

  int checked_version() {
    // The tables are counted first: another process that makes them sets the id in the same transaction.
    const long long all = num_tables("");
    if (connection_.file() != nullptr) {
      const long long owner = number("PRAGMA application_id");
      if (owner != kFleetApplicationId && (all > 0 || owner != 0)) fail_other_program(named());
    } else if (all > 0 && num_tables("schema_version") == 0) {
      fail_other_program(named());
    }
    if (all == 0) return 0;
    if (number("SELECT count(*) FROM schema_version WHERE program NOT LIKE 'attune%'") > 0) fail_other_program(named());
    const long long version = number("SELECT coalesce(max(number), 0) FROM schema_version");
    if (version > kFleetSchemaVersion)
      fail(ErrorCode::invalid_input,
           "the fleet's store has schema {} and this program supports up to {}, use the newer program or name another "
           "store with {}: '{}'",
           version, kFleetSchemaVersion, kFleetWords.setting, named());
    return static_cast<int>(version);
  }

  void turn_wal_on() {
    if (const auto mode = connection_.file()->text("PRAGMA journal_mode = WAL"); mode != "wal")
      fail(ErrorCode::invalid_input,
           "the file system of the fleet's store has no shared memory (mode '{}'), name a local file with {}: '{}'",
           mode, kFleetWords.setting, named());
    // A commit reaches the disk: an hour of measuring survives a power loss.
    connection_.guard([&] { connection_.session() << "PRAGMA synchronous = FULL"; });
  }

  void apply(int step) {
    const FleetDialect::Types& types = dialect_.types;
    std::string_view statements = kFleetMigrations.at(static_cast<size_t>(step));
    while (!statements.empty()) {  // SOCI runs one statement at a time.
      const size_t end = statements.find(';');
      execute(fmt::format(fmt::runtime(statements.substr(0, end)), fmt::arg("serial", types.serial),
                          fmt::arg("int", types.integer), fmt::arg("name", types.name), fmt::arg("text", types.text),
                          fmt::arg("real", types.real), fmt::arg("bytes", types.bytes),
                          fmt::arg("end", types.table_end)));
      statements.remove_prefix(end == std::string_view::npos ? statements.size() : end + 1);
    }
    if (step == 0) {
      for (const std::string& one : dialect_.indexes()) execute(one);
    }
    const int number = step + 1;
    const std::string program = std::string("attune ") + kVersion;
    connection_.session() << fmt::format("INSERT INTO schema_version (number, applied_at, program) VALUES (:n, {}, :p)",
                                         dialect_.words.now),
        soci::use(number, "n"), soci::use(program, "p");
  }

  FleetConnection& connection_;
  const FleetDialect& dialect_;
};

}  // namespace

void migrate_fleet(FleetConnection& connection) { FleetMigration(connection).run(); }
void check_fleet_schema(FleetConnection& connection) { FleetMigration(connection).check(); }

}  // namespace attune
