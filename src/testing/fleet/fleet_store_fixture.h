// SPDX-License-Identifier: MIT
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "store/fleet/fleet_connection.h"
#include "store/fleet/fleet_store.h"
#include "testing/test_files.h"

namespace attune {

inline Problem convolution(int number) { return Problem::parse("conv n=" + std::to_string(number) + " c=3"); }

inline FleetConfiguration configuration(int number, const std::string& tag = "t") {
  const Problem problem = convolution(number);
  return {.id = hash128(problem.key()).hex(),
          .op = "conv",
          .key = problem.key(),
          .source = "benchmark",
          .added_at = "",
          .tags = {tag}};
}

inline FleetEnvironment fleet_test_environment() {
  return {.fingerprint = "f00", .device_json = "{}", .versions = {{"a.conv", "1"}}, .variables = {"OMP_NUM_THREADS=2"}};
}

inline ClaimFilter filter(int64_t session, std::vector<FleetStep> steps, const std::string& agent = "me") {
  return {.session = session, .steps = std::move(steps), .agent = agent};
}

inline JobOutcome job_outcome_of(const ClaimedJob& job) {
  JobOutcome outcome;
  if (job.step == FleetStep::perf_eval)
    outcome.short_list = {{job.solver, {job.solver, "1", {}}, 5, 64}, {job.solver, {job.solver, "1", {}}, 6, 0}};
  if (job.step == FleetStep::perf_contest || job.step == FleetStep::find_eval) {
    Decision decision;
    decision.problem = Problem::parse(job.problem);
    decision.winner = decision.baseline = {"a.conv", "1", {}};
    outcome.decision = decision;
    outcome.finalists = {{"a.conv", {"a.conv", "1", {}}, 5, 64}, {"b.conv", {"b.conv", "2", {}}, 7, 0}};
    outcome.kernels = {{"k", "-O3",
                        std::string("\0\x7f"
                                    "ELF",
                                    5)}};
  }
  return outcome;
}

/// Works until nothing is left; returns how many jobs were stored.
inline size_t work(JobQueue& queue, int64_t session, const std::vector<FleetStep>& steps) {
  size_t num_stored = 0;
  for (;;) {
    const auto jobs = queue.claim(filter(session, steps), 3);
    if (jobs.empty()) return num_stored;
    for (const ClaimedJob& job : jobs) num_stored += queue.commit(job, job_outcome_of(job)) ? 1 : 0;
  }
}

/// The databases to test: a file, and the servers that tests/fleet_lab has started and names in ATTUNE_LAB_MARIADB and
/// ATTUNE_LAB_POSTGRESQL as `SCHEME://USER@HOST:PORT`.
inline std::vector<std::string> tested_databases() {
  std::vector<std::string> all = {"sqlite"};
  if (std::getenv("ATTUNE_LAB_MARIADB") != nullptr) all.push_back("mariadb");
  if (std::getenv("ATTUNE_LAB_POSTGRESQL") != nullptr) all.push_back("postgresql");
  return all;
}

/// A store of its own for each test. The parameter: one of tested_databases().
class FleetStoreFixture : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "sqlite") {
      store_ = "sqlite:" + (folder_.path() / "own" / "fleet.db").string();
      return;
    }
    const bool is_mariadb = GetParam() == "mariadb";
    const std::string server = std::getenv(is_mariadb ? "ATTUNE_LAB_MARIADB" : "ATTUNE_LAB_POSTGRESQL");
    database_ = "attune_" + std::to_string(::getpid()) + "_" + std::to_string(num_made++);
    admin_ = server + (is_mariadb ? "/mysql" : "/postgres");
    administer("CREATE DATABASE " + database_);
    store_ = server + "/" + database_;
  }
  void TearDown() override {
    if (database_.empty()) return;
    administer("DROP DATABASE " + database_ + (GetParam() == "postgresql" ? " WITH (FORCE)" : ""));
  }

  /// A session with `count` configurations and the solvers a.conv and b.conv.
  static int64_t begin(FleetStore& store, int count) {
    std::vector<FleetConfiguration> all;
    for (int i = 1; i <= count; ++i) all.push_back(configuration(i));
    store.add_configurations(all);
    store.set_solvers({{"a.conv", "1", "conv", true, "A"}, {"b.conv", "2", "conv", false, "B"}});
    return store.begin_session(fleet_test_environment(), "why");
  }
  std::unique_ptr<FleetStore> open(FleetStoreUse use = FleetStoreUse::create) const {
    return open_fleet_store(store_, use, 10'000);
  }
  static JobLoad load_of(int64_t session,
                         std::vector<FleetStep> steps = {FleetStep::perf_compile, FleetStep::perf_eval}) {
    return {.session = session, .tag = "t", .steps = std::move(steps), .reason = "why"};
  }
  /// Runs a statement behind the store's back.
  void run(const std::string& sql) const {
    FleetConnection connection(store_address(store_), 10'000);
    connection.guard([&] { connection.session() << sql; });
  }
  long long number(const std::string& sql) const {
    long long found = -1;
    FleetConnection connection(store_address(store_), 10'000);
    connection.guard([&] { connection.session() << sql, soci::into(found); });
    return found;
  }
  std::filesystem::path file() const { return store_.substr(std::string("sqlite:").size()); }
  template <typename Action>
  static std::string refusal(Action action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "nothing was refused";
    return {};
  }

  TestFolder folder_;
  std::string store_;  ///< For ATTUNE_STORE.

 private:
  void administer(const std::string& sql) const {
    FleetConnection connection(store_address(admin_), 10'000);
    connection.guard([&] { connection.session() << sql; });
  }

  static inline int num_made = 0;
  std::string database_, admin_;
};

}  // namespace attune
