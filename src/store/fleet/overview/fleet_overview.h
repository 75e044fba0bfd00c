// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace attune {

/// Jobs of one step by state.
struct StepProgress {
  std::string step;
  std::map<std::string, int64_t> states;  ///< `queued`, `leased`, `done`, `failed`, `excluded`: numbers of jobs.
};

struct SessionProgressRow {
  int64_t id = 0, created_ms = 0;
  std::string state, reason, ticket, image, device;
  std::vector<StepProgress> steps;
  std::map<std::string, int64_t> failures;  ///< Failed and excluded jobs by class.
};

/// A job that an agent holds.
struct HeldJobRow {
  std::string agent, step, solver, problem;
  int64_t session = 0, job = 0;
  int64_t since_ms = 0;     ///< When it was claimed.
  double lease_left_s = 0;  ///< Negative: the agent is gone, and another one may take the job.
};

struct FleetEventRow {
  int64_t id = 0, at_ms = 0, session = 0, job = 0;
  std::string agent, kind, text;
};

/// A fleet's store at one moment, by the database's clock.
struct FleetOverview {
  std::string store;                         ///< As StoreAddress::shown() names it, without a password.
  std::vector<SessionProgressRow> sessions;  ///< Newest first, at most 100.
  std::vector<HeldJobRow> held;              ///< By agent, at most 1000.
  std::vector<FleetEventRow> events;         ///< Newest first, at most 100.
};

/// Reads the store that store_address() finds, in one transaction, and changes nothing in it. Reads every job:
/// 1,000,000 of a SQLite file take 1.2 s. Throws invalid_input for an absent store and for one of another schema than
/// this program's, StoreAway, and database.
FleetOverview read_fleet_overview();

}  // namespace attune
