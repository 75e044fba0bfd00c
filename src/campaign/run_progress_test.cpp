// SPDX-License-Identifier: MIT
#include "campaign/run_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "process/temporary_folder.h"

namespace attune {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

RunProgress half_done() {
  RunProgress progress{.num_shapes = 4, .num_decided = 2, .doing = "racing", .elapsed_s = 60};
  progress.best_ratio = 1.5;
  progress.best_shape = "1×2×3";
  progress.failures = {{"crashed", 3}};
  return progress;
}

TEST(RunProgressNumbers, ShapesThatAreGivenUpOrLeftAreNotDecided) {
  RunProgress progress = half_done();
  EXPECT_EQ(progress.counts(), "2 of 4 shapes decided");
  progress.num_decided = 1;
  progress.num_given_up = 1;
  progress.num_left = 1;
  EXPECT_EQ(progress.counts(), "1 of 4 shapes decided, 1 given up, 1 left for the next run");
  EXPECT_EQ(progress.shapes_a_minute(), 1);
  EXPECT_EQ(progress.left_s(), 20) << "each took its time, decided or not";
  EXPECT_EQ(RunProgress{.num_shapes = 1}.counts(), "0 of 1 shape decided");
}

TEST(RunProgressNumbers, TheTimeLeftFollowsFromTheShapesThatEndedAndTheBudget) {
  RunProgress progress = half_done();
  EXPECT_EQ(progress.left_s(), 60);
  progress.budget_s = 70;
  EXPECT_EQ(progress.left_s(), 10);
  progress.budget_s = 50;
  EXPECT_EQ(progress.left_s(), 0) << "the budget is spent";
  progress.num_decided = 0;
  EXPECT_EQ(progress.left_s(), std::nullopt);
  progress.num_decided = 4;
  EXPECT_EQ(progress.left_s(), std::nullopt);
}

TEST(RunProgressNumbers, TheTimeLeftCountsNoShapesOfAnEarlierRun) {
  RunProgress progress = half_done();
  progress.num_shapes = 10;
  EXPECT_EQ(progress.left_s(), 240);
  progress.num_known = 7;
  EXPECT_EQ(progress.left_s(), 30) << "two took 60 s, and one more is to do";
  progress.num_decided = 9;
  progress.num_earlier = 7;
  EXPECT_EQ(progress.left_s(), 30);
  EXPECT_EQ(progress.shapes_a_minute(), 2);
  progress.num_known = 0;
  EXPECT_EQ(progress.left_s(), 30) << "the journal knew them";
  progress.num_decided = 7;
  EXPECT_EQ(progress.left_s(), std::nullopt) << "none has ended in this run";
  progress.num_decided = 3;
  progress.num_earlier = 0;
  progress.num_known = 7;
  EXPECT_EQ(progress.left_s(), std::nullopt) << "all that are to do are done";
}

TEST(RunProgressNumbers, RemarksNameRateBestAndFailures) {
  EXPECT_EQ(half_done().remarks(), "2.0 decided a minute, about 1m 00s left, best 1.50× (1×2×3), failed: 3 crashed");
  EXPECT_EQ(RunProgress{}.remarks(), "");
}

TEST(RunProgressNumbers, JsonHoldsThemWithTheProcessAndTheSpeed) {
  RunningRun run{.pid = 47, .progress = half_done()};
  const auto json = nlohmann::json::parse(run_json(run));
  EXPECT_EQ(json["pid"], 47);
  EXPECT_EQ(json["shapes"], 4);
  EXPECT_EQ(json["decided"], 2);
  EXPECT_EQ(json["shapes_a_minute"], 2);
  EXPECT_EQ(json["left_s"], 60);
  EXPECT_EQ(json["failures"]["crashed"], 3);
  run.progress.num_decided = 0;
  EXPECT_FALSE(nlohmann::json::parse(run_json(run)).contains("left_s")) << "nothing ended yet";
}

class RunFiles : public testing::Test {
 protected:
  TemporaryFolder state_{"progress_test"};
};

TEST_F(RunFiles, ShowARunUntilItEnds) {
  {
    ProgressFile file(state_.path());
    EXPECT_THAT(running_runs(state_.path()), IsEmpty()) << "nothing is written yet";
    RunProgress progress = half_done();
    progress.num_given_up = 3;
    progress.num_left = 4;
    file.write(progress);
    const auto runs = running_runs(state_.path());
    ASSERT_THAT(runs, SizeIs(1));
    EXPECT_EQ(runs[0].progress.counts(), progress.counts());
    EXPECT_EQ(runs[0].pid, ::getpid());
    EXPECT_EQ(runs[0].progress.doing, "racing");
    EXPECT_EQ(runs[0].progress.best_shape, "1×2×3");
    EXPECT_EQ(runs[0].progress.failures.at("crashed"), 3u);
  }
  EXPECT_THAT(running_runs(state_.path()), IsEmpty());
}

TEST_F(RunFiles, AreWrittenTwiceASecondAtMost) {
  ProgressFile file(state_.path());
  RunProgress progress = half_done();
  file.write(progress);
  progress.num_decided = 3;
  progress.elapsed_s += 0.4;
  file.write(progress);
  EXPECT_EQ(running_runs(state_.path()).at(0).progress.num_decided, 2u);
  progress.elapsed_s += 0.2;
  file.write(progress);
  EXPECT_EQ(running_runs(state_.path()).at(0).progress.num_decided, 3u);
}

TEST_F(RunFiles, OfDeadProcessesAreRemovedAndForeignOnesLeft) {
  ProgressFile file(state_.path());
  file.write(half_done());
  const auto folder = state_.path() / "runs";
  const auto own = std::filesystem::directory_iterator(folder)->path();
  std::string text = read_file(own);
  const std::string pid = "\"pid\":" + std::to_string(::getpid());
  ASSERT_NE(text.find(pid), std::string::npos);
  text.replace(text.find(pid), pid.size(), "\"pid\":99999999");  // Above the largest process number.
  write_file_atomically(folder / "dead.json", text);
  write_file_atomically(folder / "foreign.json", "{}");
  EXPECT_THAT(running_runs(state_.path()), SizeIs(1));
  EXPECT_FALSE(std::filesystem::exists(folder / "dead.json"));
  EXPECT_TRUE(std::filesystem::exists(folder / "foreign.json"));
}

TEST_F(RunFiles, AreNotNeeded) {
  for (const std::filesystem::path& nowhere : {std::filesystem::path(), std::filesystem::path("/dev/null/state")}) {
    ProgressFile file(nowhere);
    file.write(half_done());
    EXPECT_THAT(running_runs(nowhere), IsEmpty());
  }
}

}  // namespace
}  // namespace attune
