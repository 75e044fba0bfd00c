// SPDX-License-Identifier: MIT
// Files of the first released schema stay readable for ever, with unknown time and place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <soci/soci-config.h>
#undef SOCI_HAVE_BOOST
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include "base/error.h"
#include "base/file.h"
#include "store/journal.h"

namespace attune {
namespace {

constexpr const char* kOldProblem = "gemm_a16w16 m=1 n=2 k=3 dtype=bf16 outdtype=bf16 bias=0";
constexpr const char* kProtocol = "cold race/1 auto/96 seed=0 gain=0.005 err=0.05";

/// Payloads as the first schema's program wrote them.
const std::vector<std::pair<int, std::string>> kPayloads = {
    {0,
     R"({"candidate":{"config":"a=1","solver":"fake.gemm","version":"1"},"device":"g/2","problem":"gemm_a16w16 m=1 n=2 k=3 dtype=bf16 outdtype=bf16 bias=0","type":"started","versions":{"fake.gemm":"1"}})"},
    {1,
     R"({"candidate":{"config":"a=1","solver":"fake.gemm","version":"1"},"device":"g/2","dropped":false,"outcome":{"detail":"","errors":[0.0,0.0,0.0],"status":"ok"},"problem":"gemm_a16w16 m=1 n=2 k=3 dtype=bf16 outdtype=bf16 bias=0","protocol":{"cache":"cold","err_ratio":0.05,"min_gain":0.005,"procedure":"race/1 auto/96","seed":0},"stage":"verify","type":"record","versions":{"fake.gemm":"1"}})"},
    {2,
     R"({"baseline":{"config":"a=1","solver":"fake.gemm","version":"1"},"baseline_us":2.0,"device":"g/2","dropped_samples":0,"errors":[0.0,0.0,0.0],"finalists":[],"incomplete":false,"launches":7,"noisy":false,"num_clean":21,"problem":"gemm_a16w16 m=1 n=2 k=3 dtype=bf16 outdtype=bf16 bias=0","protocol":{"cache":"cold","err_ratio":0.05,"min_gain":0.005,"procedure":"race/1 auto/96","seed":0},"ratio":2.0,"ratio_high":2.1,"ratio_low":1.9,"tied":[],"type":"decision","verdict":"faster","versions":{"fake.gemm":"1"},"winner":{"config":"a=1","solver":"fake.gemm","version":"1"},"winner_us":1.0})"},
    {3, R"({"candidate":{"config":"a=2","solver":"fake.gemm","version":"1"},"device":"g/2","type":"pardoned"})"}};

void write_schema_1(const std::filesystem::path& file) {
  soci::session session(soci::sqlite3, "db=\"" + file.string() + "\"");
  session << "CREATE TABLE entries ("
             " id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, problem TEXT NOT NULL, device TEXT NOT NULL,"
             " protocol TEXT NOT NULL, payload TEXT NOT NULL)";
  session << "CREATE INDEX entries_by_problem ON entries (problem, device, kind)";
  session << "CREATE INDEX decisions_by_problem ON entries (problem, device, protocol) WHERE kind = 2";
  session << "PRAGMA application_id = 1098151029";
  session << "PRAGMA user_version = 1";
  for (const auto& [kind, payload] : kPayloads) {
    const std::string problem = kind == 3 ? "" : kOldProblem, protocol = kind == 1 || kind == 2 ? kProtocol : "",
                      device = "g/2";
    session << "INSERT INTO entries (kind, problem, device, protocol, payload) VALUES (:k, :p, :d, :r, :j)",
        soci::use(kind), soci::use(problem), soci::use(device), soci::use(protocol), soci::use(payload);
  }
}

class Schema1 : public testing::Test {
 protected:
  Schema1() {
    std::filesystem::create_directory(folder_);
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
    write_schema_1(file_);
  }
  ~Schema1() override { std::filesystem::remove_all(folder_); }

  /// Checks that every entry is there with unknown time and run, and that none is reused.
  static void expect_all_of_unknown_place(const Journal& journal) {
    std::vector<size_t> kinds;
    journal.scan({}, [&](const Entry& entry, const Stamp& stamp) {
      kinds.push_back(entry.index());
      EXPECT_EQ(stamp.at_ms, 0);
      EXPECT_EQ(stamp.run, 0);
      if (const auto* decision = std::get_if<Decision>(&entry)) {
        EXPECT_EQ(decision->fingerprint, "");
        EXPECT_EQ(decision->comparison.us, 1.0);
      }
    });
    EXPECT_THAT(kinds, testing::ElementsAre(0u, 1u, 2u, 3u));
    const Protocol protocol{.procedure = "race/1 auto/96"};
    size_t num_pardons = 0;
    journal.scan({.fingerprint = "here"}, [&](const Entry& entry, const Stamp&) {
      EXPECT_TRUE(std::holds_alternative<Pardon>(entry));
      ++num_pardons;
    });
    EXPECT_EQ(num_pardons, 1u) << "a pardon holds everywhere";
    EXPECT_FALSE(journal.decision(Problem::parse(kOldProblem), "here", {{"fake.gemm", "1"}}, protocol));
    const Query decisions{.fingerprint = "here", .started = false, .records = false, .pardons = false};
    journal.visit_headings(decisions, [](const EntryHeading&) { ADD_FAILURE() << "a winner of unknown place"; });
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("attune_schema_1." + std::to_string(::getpid()));
  std::filesystem::path file_ = folder_ / "journal.db";
};

TEST_F(Schema1, IsReadWithoutBeingChanged) {
  ::chmod(file_.c_str(), 0600);
  const std::string before = read_file(file_);
  expect_all_of_unknown_place(*open_sql_journal_read_only(file_));
  EXPECT_EQ(read_file(file_), before);
}

TEST_F(Schema1, HasOutcomes) {
  std::vector<std::string> candidates;
  open_sql_journal_read_only(file_)->visit_outcomes({}, [&](const EntryHeading& heading, const Outcome& outcome) {
    EXPECT_TRUE(outcome.ok());
    candidates.push_back(heading.candidate);
  });
  ASSERT_EQ(candidates.size(), 1u);
  EXPECT_FALSE(candidates[0].empty());
}

TEST_F(Schema1, IsCountedWithoutItsPayloads) {
  {
    soci::session session(soci::sqlite3, "db=\"" + file_.string() + "\"");
    session << "UPDATE entries SET payload = 'nothing that is read' WHERE kind = 2";
  }
  const auto journal = open_sql_journal_read_only(file_);
  EXPECT_EQ(journal->count({}), (EntryCounts{.started = 1, .records = 1, .decisions = 1, .pardons = 1}));
  EXPECT_EQ(journal->count({.started = false, .records = false, .pardons = false}), EntryCounts{.decisions = 1});
  EXPECT_EQ(journal->count({.problem_prefix = "conv"}), EntryCounts{.pardons = 1});
  EXPECT_EQ(journal->count({.run = 1}), EntryCounts{}) << "its entries belong to no run";
  EXPECT_EQ(journal->count({.statuses = {"ok"}}), EntryCounts{.records = 1}) << "which payloads alone say";
  EXPECT_EQ(journal->count({.stages = {Stage::final}, .decisions = false}), (EntryCounts{.started = 1, .pardons = 1}));
}

TEST_F(Schema1, IsBroughtUpToDateByAWriter) {
  const auto journal = open_sql_journal(file_);
  expect_all_of_unknown_place(*journal);
  const int64_t run = journal->begin_run({});
  EXPECT_EQ(run, 5) << "old ids are kept, and new ones follow";
  expect_all_of_unknown_place(*open_sql_journal_read_only(file_));
}

}  // namespace
}  // namespace attune
