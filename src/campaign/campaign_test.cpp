// SPDX-License-Identifier: MIT
#include "campaign/campaign.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "formats/csv/table.h"
#include "process/temporary_folder.h"
#include "store/journal.h"
#include "testing/campaign_values.h"
#include "testing/environment.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

/// Runs on the fake device in this process, in a folder that holds all files it writes.
class RunOfCampaign : public testing::Test {
 protected:
  RunOfCampaign() {
    options_.devices.ids = "fake:0";
    options_.isolation = "none";
    options_.kernels.cache = path("kernels");
    options_.journal = path("journal.db");
    options_.output = path("t.csv");
    options_.max_trials = 2;
    options_.problems = {test_problem(1)};
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  /// Calls, and keeps the output printed by the call.
  template <typename Call>
  auto quietly(Call&& call) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    auto result = call();
    errors_ = testing::internal::GetCapturedStderr();
    output_ = testing::internal::GetCapturedStdout();
    return result;
  }
  CampaignResult run() {
    return quietly([&] { return run_campaign(options_); });
  }
  std::string refused() {
    return quietly([&] { return refusal([&] { run_campaigns(options_); }); });
  }
  std::vector<int64_t> rows() const {
    std::vector<int64_t> ms;
    if (!std::filesystem::exists(options_.output)) return ms;
    const Table table = Table::read(options_.output);
    for (const TableRow& row : table.rows()) ms.push_back(row.problem.integer("m"));
    return ms;
  }
  RunEnd last_end() const {
    RunEnd end;
    open_sql_journal_read_only(options_.journal)->scan({.runs = true}, [&](const Entry& entry, const Stamp&) {
      if (const auto* one = std::get_if<RunEnd>(&entry)) end = *one;
    });
    return end;
  }

  TemporaryFolder folder_{"campaign_test"};
  TestEnvironment home_{"ATTUNE_HOME", path("state")};
  TuneOptions options_;
  std::string output_, errors_;
};

TEST_F(RunOfCampaign, TunesShapesThatAreValuesAndPublishesTheirRows) {
  options_.problems = {test_problem(1), test_problem(2)};
  const CampaignResult result = run();
  EXPECT_EQ(result.status, 0);
  ASSERT_THAT(result.shapes, SizeIs(2));
  EXPECT_EQ(result.shapes[0].problem, test_problem(1));
  EXPECT_EQ(result.shapes[1].ending, Ending::decided);
  EXPECT_THAT(rows(), ElementsAre(1, 2));
  EXPECT_THAT(output_, HasSubstr("2 shapes decided: "));
  const RunEnd end = last_end();
  EXPECT_EQ(end.ending, "done");
  EXPECT_EQ(end.exit_status, 0);
  EXPECT_TRUE(end.versions.contains("fake.gemm"));
}

TEST_F(RunOfCampaign, KeepsTheRowsOfAnEarlierRun) {
  run();
  const CampaignResult again = run();
  EXPECT_EQ(again.status, 0);
  EXPECT_EQ(again.shapes[0].ending, Ending::reused);
  EXPECT_THAT(output_, HasSubstr("1 shape tuned before, taken from the journal"));
}

TEST_F(RunOfCampaign, WithoutATunedShapeItsStatusIsOne) {
  options_.problems = {Problem::parse("gemm_a16w16 m=0 n=32 k=48 dtype=fp32")};
  const CampaignResult result = run();
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.shapes, IsEmpty());
  EXPECT_THAT(errors_, HasSubstr("skipped gemm_a16w16 "));
  EXPECT_EQ(last_end().exit_status, 1);
}

TEST_F(RunOfCampaign, WithoutAnyShapeNothingIsWritten) {
  options_.problems.clear();
  options_.input = path("bf16_untuned_gemm.csv");
  write_file_atomically(options_.input, "M,N,K,dtype\n");
  EXPECT_EQ(run().status, 0);
  EXPECT_THAT(errors_, HasSubstr("note: no shapes in " + options_.input + ", nothing is tuned or written\n"));
  EXPECT_FALSE(std::filesystem::exists(options_.journal));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
}

TEST_F(RunOfCampaign, JsonIsOneDocument) {
  options_.json = true;
  run();
  const auto json = nlohmann::json::parse(output_);
  EXPECT_EQ(json["results"].size(), 1u);
  EXPECT_EQ(json["table"], options_.output);
}

TEST_F(RunOfCampaign, KeepsAllCandidatesInAFileAndAFolder) {
  options_.profile_file = path("all.csv");
  options_.keep_dir = path("kept");
  run();
  EXPECT_THAT(read_file(options_.profile_file), HasSubstr("fake.gemm"));
  EXPECT_THAT(read_file(path("kept/candidates.csv")), HasSubstr("fake.gemm"));
}

TEST_F(RunOfCampaign, ComparesWinnersOfOneSizeOnceMore) {
  options_.problems.clear();
  options_.settings = {{"m", "4", "-m"}, {"n", "32", "-n"}, {"k", "48", "-k"}, {"dtype", "fp32", "--dtype"}};
  options_.output.clear();
  options_.compare = true;
  EXPECT_EQ(run().status, 0);
  EXPECT_THAT(output_, HasSubstr("before and after, measured interleaved:"));
  EXPECT_THAT(errors_, HasSubstr("4×32×48 fp32: winner checked again: ok"));
}

TEST_F(RunOfCampaign, ABatchInvariantRunNeedsWorkers) {
  options_.require = "batch-invariant";
  EXPECT_THAT(refused(), StartsWith("--isolation none runs one process"));
}

TEST_F(RunOfCampaign, ThreadLimitsAreForHosts) {
  options_.thread_limits = {1, 2};
  EXPECT_EQ(quietly([&] { return run_campaigns(options_); }), 0);
  EXPECT_THAT(errors_,
              HasSubstr("note: --threads limits a host; other devices keep the units that they have: fake:0\n"));
  EXPECT_THAT(errors_, testing::Not(HasSubstr("-- 1 thread"))) << "one run, of no limit";
}

TEST_F(RunOfCampaign, AFileOfOneRunIsRefusedForSeveralThreadLimits) {
  const std::string sentence =
      "--json, --profile_file, --keep and YAML files hold the results of one run, run once for each number of threads";
  options_.devices.ids = "cpu:0";
  options_.thread_limits = {1, 2};
  options_.json = true;
  EXPECT_EQ(refused(), sentence);
  options_.json = false;
  options_.profile_file = path("all.csv");
  EXPECT_EQ(refused(), sentence);
  options_.thread_limits = {100'000, 100'000};
  EXPECT_THAT(refused(), HasSubstr("100000")) << "equal limits are one";
}

}  // namespace
}  // namespace attune
