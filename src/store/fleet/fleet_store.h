// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/fleet/job_queue.h"
#include "store/fleet/kernels/shared_kernels.h"

namespace attune {

/// A configuration: one normalised problem. Kept for good.
struct FleetConfiguration {
  std::string id;       ///< The problem key's 128-bit hash as 32 hex digits.
  std::string op, key;  ///< Problem::key(), which Problem::parse() reads.
  std::string source;   ///< `benchmark`, `customer`, `issue#N`, or the file it came from.
  std::string added_at;
  std::vector<std::string> tags;
  bool is_recurrent = false;
};

/// A solver for one op.
struct FleetSolver {
  std::string id, version, op;
  bool is_tunable = false;  ///< Has more configs than its default.
  std::string title;
};

/// What a session pins. An agent in another environment is refused, and each difference is named.
struct FleetEnvironment {
  std::string fingerprint;             ///< DeviceInfo::fingerprint().
  std::string device_json;             ///< Without measured figures.
  Versions versions;                   ///< Solvers and libraries.
  std::vector<std::string> variables;  ///< `NAME=value` of variables that libraries read.
};

/// Where a session comes from: for people and reports, agents may differ. Empty texts: not known.
struct SessionCustody {
  std::string image;   ///< Digest of the container image that began it.
  std::string ticket;  ///< The order that it serves, as its user wrote it.
  std::string source;  ///< Of an imported session: the source of its foreign results.
};

enum class SessionState : uint8_t { open, closed, aborted };
std::string_view name(SessionState state) noexcept;

struct FleetSession {
  int64_t id = 0;
  std::string reason, created_by, created_at, state;  ///< state: open, closed, aborted.
  FleetEnvironment environment;
  std::vector<FleetSolver> solvers;  ///< Without titles.
  SessionCustody custody = {};
};

/// What an export needs of one configuration of a tag.
struct FleetAnswer {
  FleetConfiguration configuration;
  std::optional<Decision> decision;
  std::vector<ShortListRow> finalists;  ///< Fastest first.
  std::vector<FleetKernel> kernels;
  std::string missing;  ///< Why there is no decision, one sentence; empty: there is one.
};

/// Selection of jobs to load.
struct JobLoad {
  int64_t session = 0;
  std::string tag;  ///< Empty: all configurations.
  std::vector<FleetStep> steps;
  bool only_applicable = false;  ///< False: a job for every solver; it ends `unsupported` where it does not apply.
  std::string reason;
  std::vector<std::string> solvers;  ///< Empty: all of the session.
};

/// Jobs of a session in one state.
struct JobGroup {
  FleetStep step = FleetStep::perf_eval;
  JobState state = JobState::queued;
  std::string failure;  ///< Class of the last failure; empty: none.
  size_t count = 0;
};

/// A job as people look at it.
struct JobRow {
  int64_t id = 0;
  FleetStep step = FleetStep::perf_eval;
  JobState state = JobState::queued;
  std::string configuration, problem, solver, reason;
  std::string failure, detail;  ///< Of the last failed attempt.
  std::string agent;            ///< Who holds it.
  int attempts = 0;             ///< Counted ones.
  double lease_left_s = 0;      ///< Of a leased job; negative: expired.
};

/// Which jobs to visit.
struct JobFilter {
  int64_t session = 0;
  std::string tag, failure;       ///< Empty: any.
  std::optional<JobState> state;  ///< Nothing: any.
};

/// How fast a session proceeds.
struct SessionRate {
  size_t num_ended = 0;      ///< Attempts with an outcome in the last ten minutes.
  double over_s = 0;         ///< Since the first of them began.
  size_t num_lost = 0;       ///< Leases that expired, ever.
  size_t num_discarded = 0;  ///< Late results, ever.
};

/// The configurations and solvers of a fleet's store.
class FleetCatalogue {
 public:
  virtual ~FleetCatalogue() = default;
  /// Adds new configurations and the tags of each; returns how many were new. A configuration that is there keeps its
  /// source and date.
  virtual size_t add_configurations(const std::vector<FleetConfiguration>& all) = 0;
  /// In the order of their import. An empty tag: all.
  virtual void visit_configurations(const std::string& tag,
                                    const std::function<void(const FleetConfiguration&)>& visit) = 0;
  /// Removes a tag from these configurations; from all that have it if the list is empty. Returns from how many.
  virtual size_t untag(const std::string& tag, const std::vector<std::string>& configurations) = 0;
  /// Makes these the present solvers; others stay, for older sessions. Returns how many are new.
  virtual size_t set_solvers(const std::vector<FleetSolver>& all) = 0;
  virtual std::vector<FleetSolver> solvers() = 0;  ///< The present ones.
};

/// The sessions of a fleet's store.
class FleetSessions {
 public:
  virtual ~FleetSessions() = default;
  /// Pins the environment and the present solvers. Returns the session of the same reason, environment and solvers if
  /// there is one, which keeps its custody. Throws invalid_input if that has another ticket.
  virtual int64_t begin_session(const FleetEnvironment& environment, const std::string& reason,
                                const SessionCustody& custody = {}) = 0;
  /// Adds a closed session without solvers for results that another program measured. Returns the imported session of
  /// the same reason and environment if there is one. Throws invalid_input if that has another source or ticket, or if
  /// another session has the source, whose results would be replaced. Requires: a source.
  virtual int64_t import_session(const FleetEnvironment& environment, const std::string& reason,
                                 const SessionCustody& custody) = 0;
  virtual FleetSession session(int64_t id) = 0;
  virtual std::vector<FleetSession> sessions() = 0;
  /// Closed: it takes no more jobs, and agents get none; they may finish those that they hold. Aborted: its open jobs
  /// are given up, too.
  virtual void end_session(int64_t id, SessionState state) = 0;
  /// Stores whether each solver applies to a configuration; `reason`: why it does not apply.
  struct Applicability {
    std::string configuration, solver, reason;
    bool applies = false;
  };
  virtual void set_applicability(int64_t session, const std::vector<Applicability>& all) = 0;
};

/// What happened to a session's agents and jobs.
struct FleetEvent {
  std::string at, agent, kind, text;  ///< kind: `lease_expired`, `late_result`, `device_lost`, `kernel_refused`,
                                      ///< `lacks_compiler`.
};

/// The jobs of a fleet's store, and what they found.
class FleetJobs {
 public:
  virtual ~FleetJobs() = default;
  /// Returns how many jobs are new.
  virtual size_t load_jobs(const JobLoad& load) = 0;
  virtual void visit_jobs(const JobFilter& filter, const std::function<void(const JobRow&)>& visit) = 0;
  /// Queues the jobs that failed in a class again, with all their attempts, and the contests that they belong to.
  /// Empty: any class. Returns how many failed jobs. Requires: an open session.
  virtual size_t reset_jobs(int64_t session, const std::string& failure) = 0;
  virtual std::vector<JobGroup> job_groups(int64_t session) = 0;
  virtual SessionRate rate(int64_t session) = 0;
  virtual void add_event(int64_t session, const FleetEvent& event) = 0;  ///< At the database's time.
  /// The latest events of a kind, newest first.
  virtual std::vector<FleetEvent> events(int64_t session, const std::string& kind, size_t max_count) = 0;
  virtual JobQueue& queue() = 0;
  /// Visits the configurations of a tag in the order of their import. An empty tag: those with jobs in the session. All
  /// answers are of one moment. A decision whose job is open again is missing.
  virtual void visit_answers(int64_t session, const std::string& tag,
                             const std::function<void(const FleetAnswer&)>& visit) = 0;
};

/// The fleet's database: a file of SQLite (mode 0600), MariaDB or PostgreSQL, through SOCI. The journal stays each
/// machine's own log. Every function can be repeated; its changes are stored as a whole or not at all. Throws
/// StoreAway if a server does not answer, else Error{database}, or invalid_input with the command that must come first.
/// Not thread-safe, except queue().
class FleetStore : public FleetCatalogue, public FleetSessions, public FleetJobs {
 public:
  /// Whether machines share the store: it is no file.
  virtual bool is_server() const = 0;
  /// The kernels that agents share, with a connection of their own.
  virtual std::unique_ptr<SharedKernels> open_kernels() = 0;
};

/// Whether a missing store is made.
enum class FleetStoreUse : uint8_t { create, existing };

/// Opens the store that store_address() finds. Throws invalid_input for a store of another program, of a newer schema,
/// locked, unreadable or read-only, for a server that does not let this user in, and with FleetStoreUse::existing for
/// no file; StoreAway for a server that does not answer. `max_wait_ms`: for a lock of another process.
std::unique_ptr<FleetStore> open_fleet_store(const std::string& store, FleetStoreUse use = FleetStoreUse::create,
                                             int max_wait_ms = 60'000);

}  // namespace attune
