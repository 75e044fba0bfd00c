// SPDX-License-Identifier: MIT
#include "store/fleet/fleet_schema.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "attune/version.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mutex.h"
#include "store/fleet/custody_tables.h"

namespace attune {
namespace {

/// Times are milliseconds since 1970; flags are 0 or 1; a text that is not known is empty.
constexpr std::array<std::string_view, 2> kFleetMigrations = {
    "CREATE TABLE schema_version (number INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL, program TEXT NOT NULL);"
    "CREATE TABLE environment (id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, device TEXT NOT NULL,"
    " versions TEXT NOT NULL, variables TEXT NOT NULL);"
    "CREATE TABLE configuration (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, op TEXT NOT NULL,"
    " problem TEXT NOT NULL, source TEXT NOT NULL, added_at INTEGER NOT NULL);"
    "CREATE TABLE tag (name TEXT NOT NULL, configuration TEXT NOT NULL, recurrent INTEGER NOT NULL,"
    " PRIMARY KEY (name, configuration));"
    "CREATE INDEX tag_of_configuration ON tag (configuration);"
    "CREATE TABLE solver (id TEXT NOT NULL, version TEXT NOT NULL, op TEXT NOT NULL, tunable INTEGER NOT NULL,"
    " title TEXT NOT NULL, present INTEGER NOT NULL, PRIMARY KEY (id, version, op));"
    "CREATE TABLE tuning_session (id INTEGER PRIMARY KEY AUTOINCREMENT, environment TEXT NOT NULL, reason TEXT NOT "
    "NULL,"
    " solvers TEXT NOT NULL, created_by TEXT NOT NULL, created_at INTEGER NOT NULL, state TEXT NOT NULL,"
    " UNIQUE (environment, reason, solvers));"
    "CREATE TABLE session_solver (session INTEGER NOT NULL, solver TEXT NOT NULL, op TEXT NOT NULL,"
    " version TEXT NOT NULL, PRIMARY KEY (session, solver, op));"
    "CREATE TABLE applicability (session INTEGER NOT NULL, configuration TEXT NOT NULL, solver TEXT NOT NULL,"
    " applicable INTEGER NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (session, configuration, solver));"
    "CREATE TABLE job (id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, configuration TEXT NOT NULL,"
    " step TEXT NOT NULL, solver TEXT NOT NULL, reason TEXT NOT NULL, state TEXT NOT NULL, class TEXT NOT NULL,"
    " detail TEXT NOT NULL, attempts INTEGER NOT NULL, lease_token INTEGER NOT NULL, lease_until INTEGER NOT NULL,"
    " not_before INTEGER NOT NULL, agent TEXT NOT NULL, requires INTEGER NOT NULL,"
    " UNIQUE (session, configuration, step, solver));"
    "CREATE INDEX job_to_claim ON job (session, state, step, not_before, id);"
    "CREATE TABLE attempt (job INTEGER NOT NULL, token INTEGER NOT NULL, agent TEXT NOT NULL, began INTEGER NOT NULL,"
    " ended INTEGER NOT NULL, class TEXT NOT NULL, detail TEXT NOT NULL, PRIMARY KEY (job, token));"
    "CREATE TABLE result (job INTEGER NOT NULL, ordinal INTEGER NOT NULL, solver TEXT NOT NULL,"
    " candidate TEXT NOT NULL, median_us DOUBLE NOT NULL, workspace INTEGER NOT NULL, PRIMARY KEY (job, ordinal));"
    "CREATE TABLE shortlist (session INTEGER NOT NULL, configuration TEXT NOT NULL, solver TEXT NOT NULL,"
    " ordinal INTEGER NOT NULL, candidate TEXT NOT NULL, median_us DOUBLE NOT NULL, workspace INTEGER NOT NULL,"
    " PRIMARY KEY (session, configuration, solver, ordinal));"
    "CREATE TABLE decision (session INTEGER NOT NULL, configuration TEXT NOT NULL, job INTEGER NOT NULL,"
    " decided_at INTEGER NOT NULL, winner TEXT NOT NULL, baseline TEXT NOT NULL, ratio DOUBLE NOT NULL,"
    " verdict TEXT NOT NULL, payload TEXT NOT NULL, PRIMARY KEY (session, configuration));"
    "CREATE TABLE kernel (job INTEGER NOT NULL, name TEXT NOT NULL, arguments TEXT NOT NULL, sha256 TEXT NOT NULL,"
    " PRIMARY KEY (job, name, arguments));"
    "CREATE TABLE kernel_bytes (sha256 TEXT PRIMARY KEY, size INTEGER NOT NULL, bytes BLOB NOT NULL);"
    "CREATE TABLE event (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, session INTEGER NOT NULL,"
    " job INTEGER NOT NULL, agent TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL);",
    kCustodyTables,
};
static_assert(kFleetMigrations.size() == kFleetSchemaVersion);

constexpr std::string_view kSqliteMagic{"SQLite format 3\0", 16};
constexpr size_t kIdOffset = 68, kHeaderSize = 100;  // https://sqlite.org/fileformat2.html#the_database_header

[[noreturn]] void fail_other_program(const std::filesystem::path& file) {
  fail(ErrorCode::invalid_input, "the file is not a fleet's store but another program's, name another with {}: '{}'",
       kFleetWords.setting, file.string());
}

/// Descriptors of the stores that this process has opened. They stay open: closing one would drop the locks of the
/// process's connections to that file.
class HeldFiles {
 public:
  bool has(const struct stat& status) {
    const Lock lock(mutex_);
    return held_.contains({status.st_dev, status.st_ino});
  }
  void add(const struct stat& status, int descriptor) {
    const Lock lock(mutex_);
    held_.emplace(std::pair(status.st_dev, status.st_ino), descriptor);
  }

 private:
  Mutex mutex_;
  std::multimap<std::pair<dev_t, ino_t>, int> held_ ATTUNE_GUARDED_BY(mutex_);
};

HeldFiles& held_files() {
  static auto* const files = new HeldFiles;  // Never destroyed: connections of other threads may live longer.
  return *files;
}

[[noreturn]] void fail_to_open(const std::filesystem::path& file, int error) {
  if (error == ELOOP)
    fail(ErrorCode::invalid_input, "a fleet's store must not be a link, name the file itself with {}: '{}'",
         kFleetWords.setting, file.string());
  if (error == ENOSPC || error == EDQUOT)
    fail(ErrorCode::io, "no space left for the fleet's store, free some or name another with {}: '{}'",
         kFleetWords.setting, file.string());
  fail(ErrorCode::invalid_input, "the fleet's store cannot be opened for writing ({}), name another with {}: '{}'",
       std::strerror(error), kFleetWords.setting, file.string());
}

/// Whether a file is known to be a store: its header has the application id. Throws invalid_input for a file that is
/// another program's.
bool has_fleet_header(const std::filesystem::path& file, int descriptor) {
  std::array<unsigned char, kHeaderSize> header{};
  const ssize_t count = ::pread(descriptor, header.data(), header.size(), 0);
  if (count < 0) fail_to_open(file, errno);
  if (count == 0) return false;  // New, or its first transaction is in the log.
  const bool is_database =
      count == kHeaderSize && std::memcmp(header.data(), kSqliteMagic.data(), kSqliteMagic.size()) == 0;
  const unsigned char* const id = &header.at(kIdOffset);
  const auto number =
      static_cast<int>(uint32_t{id[0]} << 24 | uint32_t{id[1]} << 16 | uint32_t{id[2]} << 8 | uint32_t{id[3]});
  // Turning the log on writes a first page without an id; migrate_fleet() then counts the tables.
  if (!is_database || (number != kFleetApplicationId && number != 0)) fail_other_program(file);
  return number == kFleetApplicationId;
}

int checked_fleet_version(SqlConnection& connection, const std::filesystem::path& file) {
  // The tables are counted first: another process that makes them sets the id in the same transaction.
  const int num_tables = connection.integer("SELECT count(*) FROM sqlite_master");
  const int owner = connection.integer("PRAGMA application_id");
  if (owner != kFleetApplicationId && (num_tables > 0 || owner != 0)) fail_other_program(file);
  if (num_tables == 0) return 0;
  const int version = connection.integer("SELECT coalesce(max(number), 0) FROM schema_version");
  if (version > kFleetSchemaVersion)
    fail(ErrorCode::invalid_input,
         "the fleet's store has schema {} and this program supports up to {}, use the newer program or name another "
         "store with {}: '{}'",
         version, kFleetSchemaVersion, kFleetWords.setting, file.string());
  return version;
}

}  // namespace

void claim_fleet_file(const std::filesystem::path& file) {
  if (file.native().find('"') != std::string::npos)  // SOCI cannot open it.
    fail(ErrorCode::invalid_input,
         "the path of a fleet's store must not contain a quotation mark, name another with {}: '{}'",
         kFleetWords.setting, file.string());
  check_not_planted(file);
  for (const char* end : {"-wal", "-shm"}) {
    struct stat companion {};
    const std::string beside = file.string() + end;
    if (::lstat(beside.c_str(), &companion) == 0 && S_ISLNK(companion.st_mode)) fail_to_open(beside, ELOOP);
  }
  if (file.has_parent_path()) make_private_folder(file.parent_path());
  struct stat status {};
  if (::lstat(file.c_str(), &status) == 0) {
    if (S_ISLNK(status.st_mode)) fail_to_open(file, ELOOP);
    if (!S_ISREG(status.st_mode))
      fail(ErrorCode::invalid_input, "a fleet's store must be a regular file, name another with {}: '{}'",
           kFleetWords.setting, file.string());
    if (held_files().has(status)) return;
  }
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) fail_to_open(file, errno);
  held_files().add(status, descriptor);
  if (!has_fleet_header(file, descriptor)) return;
  constexpr mode_t kOthers = 077;
  if ((status.st_mode & kOthers) == 0 || status.st_uid != ::geteuid()) return;
  if (::fchmod(descriptor, 0600) != 0) fail_to_open(file, errno);
  for (const char* end : {"-wal", "-shm"}) ::chmod((file.string() + end).c_str(), 0600);
}

void migrate_fleet(SqlConnection& connection, const std::filesystem::path& file) {
  // Before anything is written: the file may be another program's.
  const bool is_current = checked_fleet_version(connection, file) == kFleetSchemaVersion;
  if (const auto mode = connection.text("PRAGMA journal_mode = WAL"); mode != "wal")
    fail(ErrorCode::invalid_input,
         "the file system of the fleet's store has no shared memory (mode '{}'), name a local file with {}: '{}'", mode,
         kFleetWords.setting, file.string());
  // A commit reaches the disk: an hour of measuring survives a power loss.
  connection.guard([&] { connection.session() << "PRAGMA synchronous = FULL"; });
  if (is_current) return;
  connection.transaction([&] {
    // Another process may have migrated while this one waited for the lock.
    const int version = checked_fleet_version(connection, file);
    for (int step = version; step < kFleetSchemaVersion; ++step) {
      std::string_view statements = kFleetMigrations.at(static_cast<size_t>(step));
      while (!statements.empty()) {  // SOCI runs one statement at a time.
        const size_t end = statements.find(';');
        connection.session() << std::string(statements.substr(0, end));
        statements.remove_prefix(end == std::string_view::npos ? statements.size() : end + 1);
      }
      const int number = step + 1;
      const long long now = unix_ms();
      const std::string program = std::string("attune ") + kVersion;
      connection.session() << "INSERT INTO schema_version (number, applied_at, program) VALUES (:n, :a, :p)",
          soci::use(number), soci::use(now), soci::use(program);
    }
    connection.session() << fmt::format("PRAGMA application_id = {}", kFleetApplicationId);
  });
}

}  // namespace attune
