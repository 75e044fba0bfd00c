// SPDX-License-Identifier: MIT
#include "campaign/progress_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/temporary_folder.h"
#include "testing/campaign_values.h"
#include "testing/tuner_doubles.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

/// A result with a ratio to the baseline, and candidates that failed.
TuneResult result(int m, double ratio, std::vector<Status> failures = {}) {
  TuneResult made = decided(test_problem(m), 1);
  made.decision->comparison.ratio = ratio;
  for (const Status status : failures) made.failures.emplace_back(made.decision->baseline, Outcome{status});
  return made;
}

class Tracker : public testing::Test {
 protected:
  TemporaryFolder state_{"tracker_test"};
  SetClock clock_;
  ProgressTracker tracker_{{.num_shapes = 3, .device = "fake:0"}, state_.path(), clock_};
};

TEST_F(Tracker, CountsShapesAndFailures) {
  tracker_.finished(result(1, 1, {Status::crashed, Status::wrong_result}));
  tracker_.finished(undecided(test_problem(2), Ending::cut, "no time"));
  tracker_.finished(result(3, 1, {Status::crashed}));
  EXPECT_EQ(tracker_.now().counts(), "2 of 3 shapes decided, 1 left for the next run");
  EXPECT_THAT(tracker_.now().failures, ElementsAre(Pair("crashed", 2), Pair("wrong_result", 1)));
}

TEST_F(Tracker, CountsAsDecidedWhatIsDecided) {
  tracker_.finished(undecided(test_problem(1), Ending::kept, "the table already has its row"));
  tracker_.finished(decided(test_problem(2), 1, Ending::reused));
  EXPECT_EQ(tracker_.now().num_decided, 2u);
  EXPECT_EQ(tracker_.now().num_earlier, 2u);
  tracker_.finished(undecided(test_problem(3), Ending::unsupported, "nothing supports it"));
  tracker_.finished(undecided(test_problem(4), Ending::refused, "too large"));
  EXPECT_EQ(tracker_.now().num_given_up, 2u);
  TuneResult tie = decided(test_problem(5), 1);
  tie.decision->verdict = Verdict::tie;
  tracker_.finished(tie);
  EXPECT_EQ(tracker_.now().num_decided, 3u);
  EXPECT_EQ(tracker_.now().num_earlier, 2u) << "that one is this run's";
  tie.decision->incomplete = true;
  tracker_.finished(tie);
  EXPECT_EQ(tracker_.now().num_left, 1u);
  tie.decision->verdict = Verdict::faster;
  tracker_.finished(tie);
  EXPECT_EQ(tracker_.now().num_decided, 4u) << "that it is faster was proven";
}

TEST_F(Tracker, RemembersTheBestShape) {
  tracker_.finished(result(1, 1.2));
  tracker_.finished(result(2, 1.6));
  tracker_.finished(result(3, 1.4));
  EXPECT_EQ(tracker_.now().best_ratio, 1.6);
  EXPECT_EQ(tracker_.now().best_shape, "2×32×48 fp32");
}

TEST_F(Tracker, KeepsTheFileCurrentWhileNothingElseHappens) {
  clock_.at_s += 2;
  tracker_.tick();
  clock_.at_s += 5;
  tracker_.tick();
  const auto runs = running_runs(state_.path());
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs.front().progress.elapsed_s, 7);
}

TEST_F(Tracker, NamesThePhaseAndWritesTheFile) {
  tracker_.progress(test_problem(1), Phase::race, 7);
  EXPECT_THAT(running_runs(state_.path()), IsEmpty()) << "a run of less than half a second needs no file";
  clock_.at_s += 2;
  tracker_.progress(test_problem(1), Phase::finals, 5);
  EXPECT_EQ(tracker_.now().doing, "finals of 5 candidates of 1×32×48 fp32");
  EXPECT_EQ(tracker_.now().elapsed_s, 2);
  const auto runs = running_runs(state_.path());
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].progress.doing, tracker_.now().doing);
  EXPECT_EQ(runs[0].progress.device, "fake:0");
}

TEST_F(Tracker, SaysWhatGoesOnBeforeTheRace) {
  tracker_.compiling(test_problem(1), 7);
  EXPECT_EQ(tracker_.now().doing, "compiling 7 candidates of 1×32×48 fp32");
  tracker_.progress(test_problem(1), Phase::race, 0);
  EXPECT_EQ(tracker_.now().doing, "verifying the first candidates of 1×32×48 fp32");
  tracker_.progress(test_problem(1), Phase::race, 1);
  EXPECT_EQ(tracker_.now().doing, "racing 1 candidate of 1×32×48 fp32");
}

TEST_F(Tracker, GoesOnWithoutAFile) {
  ProgressTracker tracker({.num_shapes = 1}, {}, clock_);
  clock_.at_s += 2;
  tracker.progress(test_problem(1), Phase::confirm, 2);
  tracker.finished(result(1, 1.1));
  EXPECT_EQ(tracker.now().num_decided, 1u);
  EXPECT_EQ(tracker.now().doing, "confirming 2 candidates of 1×32×48 fp32");
}

}  // namespace
}  // namespace attune
