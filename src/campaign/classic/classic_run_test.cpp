// SPDX-License-Identifier: MIT
#include "campaign/classic/classic_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "process/temporary_folder.h"
#include "testing/campaign_values.h"
#include "testing/environment.h"

namespace attune {
namespace {

using testing::HasSubstr;

/// Runs on the fake device in this process, in a folder that holds all files it writes.
class ClassicRunTest : public testing::Test {
 protected:
  ClassicRunTest() {
    options_.devices.ids = "fake:0";
    options_.isolation = "none";
    options_.kernels.cache = path("kernels");
    options_.search = "classic";
    options_.classic = "v2";
    options_.settings = {{"m", "4", "-m"}, {"n", "32", "-n"}, {"k", "48", "-k"}, {"dtype", "fp32", "--dtype"}};
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  int run() {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = run_classic(options_);
    errors_ = testing::internal::GetCapturedStderr();
    output_ = testing::internal::GetCapturedStdout();
    return status;
  }

  TemporaryFolder folder_{"classic_run_test"};
  TestEnvironment home_{"ATTUNE_HOME", path("state")};
  TuneOptions options_;
  std::string output_, errors_;
};

TEST_F(ClassicRunTest, PrintsTheWinnerAndLeavesTheJournalAlone) {
  options_.journal = path("journal.db");
  EXPECT_EQ(run(), 0);
  EXPECT_THAT(output_, HasSubstr("µs, fake.gemm@1:"));
  EXPECT_THAT(output_, HasSubstr("the least of 45 candidates (0 failed)"));
  EXPECT_THAT(errors_, HasSubstr("writes no table"));
  EXPECT_FALSE(std::filesystem::exists(options_.journal));
}

TEST_F(ClassicRunTest, WritesAWinnerThatIsRightIntoTheYamlFile) {
  options_.results_file = path("r.yaml");
  EXPECT_EQ(run(), 0);
  EXPECT_THAT(read_file(options_.results_file), HasSubstr("'method': 'classic v2'"));
}

TEST_F(ClassicRunTest, AWrongWinnerIsSaidAndNotWritten) {
  write_file_atomically(path("faults.tsv"),
                        "*\tsplit_k=1;tile_m=16;tile_n=32\tfast\tprepare\talways\n"
                        "*\tsplit_k=1;tile_m=16;tile_n=32\twrong_result\trun\talways\n");
  const TestEnvironment faults("ATTUNE_FAKE_FAULTS", path("faults.tsv"));
  options_.results_file = path("r.yaml");
  EXPECT_EQ(run(), 1);
  EXPECT_THAT(errors_, HasSubstr("4×32×48 fp32: the winner is wrong: wrong_result"));
  EXPECT_FALSE(std::filesystem::exists(options_.results_file));
}

TEST_F(ClassicRunTest, AShapeWithoutASolverHasNoWinner) {
  options_.libtype = "portable";
  EXPECT_EQ(run(), 1);
  EXPECT_THAT(errors_, HasSubstr("no winner, no solver supports it"));
}

TEST_F(ClassicRunTest, JsonIsOneDocument) {
  options_.json = true;
  EXPECT_EQ(run(), 0);
  const auto json = nlohmann::json::parse(output_);
  EXPECT_EQ(json["method"], "classic v2");
  EXPECT_EQ(json["results"][0]["status"], "ok");
  EXPECT_EQ(json["results"][0]["num_candidates"], 45);
}

}  // namespace
}  // namespace attune
