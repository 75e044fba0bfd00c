// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/fleet/job_queue.h"

namespace attune {

/// A configuration: one normalised problem. Kept for good.
struct FleetConfiguration {
  std::string id;       ///< The problem key's 128-bit hash as 32 hex digits.
  std::string op, key;  ///< Problem::key().
  std::string line;     ///< Canonical line of Problem::parse().
  std::string source;   ///< `benchmark`, `customer`, `issue#N`, or the file it came from.
  std::string added_at;
  std::vector<std::string> tags;
  bool is_recurrent = false;
};

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

struct FleetSession {
  int64_t id = 0;
  std::string reason, created_by, created_at, state;  ///< state: open, closed, aborted.
  FleetEnvironment environment;
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

/// The fleet's database on one machine: SQLite through SOCI, mode 0600. The journal stays each machine's own log.
/// Every function is one transaction and can be repeated. Throws Error{database}, or invalid_input with the command
/// that must come first. Not thread-safe, except queue().
class FleetStore {
 public:
  virtual ~FleetStore() = default;
  /// Adds what is new and the tag; returns how many were new.
  virtual size_t add_configurations(const std::vector<FleetConfiguration>& all) = 0;
  virtual void visit_configurations(const std::string& tag,
                                    const std::function<void(const FleetConfiguration&)>& visit) = 0;
  virtual size_t set_solvers(const std::vector<FleetSolver>& all) = 0;
  virtual int64_t begin_session(const FleetEnvironment& environment, const std::string& reason) = 0;
  virtual FleetSession session(int64_t id) = 0;
  /// Stores whether each solver applies to a configuration; `reason` says why not.
  struct Applicability {
    std::string configuration, solver, reason;
    bool applies = false;
  };
  virtual void set_applicability(int64_t session, const std::vector<Applicability>& all) = 0;
  virtual size_t load_jobs(const JobLoad& load) = 0;
  virtual JobQueue& queue() = 0;
  virtual void visit_answers(int64_t session, const std::string& tag,
                             const std::function<void(const FleetAnswer&)>& visit) = 0;
};

/// `store`: `sqlite:FILE`; empty: the value of ATTUNE_STORE, else fleet.db in ATTUNE_HOME.
std::unique_ptr<FleetStore> open_fleet_store(const std::string& store);

}  // namespace attune
