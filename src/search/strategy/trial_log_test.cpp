// SPDX-License-Identifier: MIT
#include "search/strategy/trial_log.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(TrialLog, KeepsTheNewestTrialOfEachIndex) {
  TrialLog log;
  log.add({.index = 7, .median_us = 90, .num_samples = 3});
  log.add({.index = 5, .median_us = 80, .num_samples = 3});
  log.add({.index = 7, .median_us = 100, .num_samples = 6});
  ASSERT_EQ(log.trials().size(), 2u);
  EXPECT_EQ(log.trials()[0].index, 7u);
  EXPECT_EQ(log.trials()[0].num_samples, 6u);
  EXPECT_EQ(log.trials()[1].index, 5u);
}

TEST(TrialLog, TheBestIsTheFastestThatIsCorrectAndTimed) {
  TrialLog log;
  EXPECT_EQ(log.best_us(), std::nullopt);
  log.add({.index = 1, .status = Status::crashed, .median_us = 10});
  log.add({.index = 2});
  EXPECT_EQ(log.best_us(), std::nullopt);
  log.add({.index = 3, .median_us = 70});
  log.add({.index = 4, .median_us = 80});
  EXPECT_EQ(log.best_us(), 70);
  EXPECT_EQ(log.num_timed(), 2u);
  log.add({.index = 3, .median_us = 75});
  EXPECT_EQ(log.best_us(), 75) << "a later figure of the best";
  log.add({.index = 3, .median_us = 90});
  EXPECT_EQ(log.best_us(), 80);
  log.add({.index = 4, .status = Status::wrong_result, .median_us = 80});
  EXPECT_EQ(log.best_us(), 90);
  EXPECT_EQ(log.num_timed(), 1u);
  log.add({.index = 3});
  EXPECT_EQ(log.best_us(), std::nullopt);
  EXPECT_EQ(log.num_timed(), 0u);
}

TEST(TrialLog, CostsAreMeansOfWhatIsKnownAndBeforeThatTheExpectation) {
  TrialLog log({.prepare_s = 4, .timing_s = 2});
  EXPECT_EQ(log.costs().prepare_s, 4);
  EXPECT_EQ(log.costs().timing_s, 2);
  log.add({.index = 1, .prepare_s = 1});
  log.add({.index = 2, .status = Status::timed_out, .prepare_s = 3});
  log.add({.index = 3});  // of an earlier run, without costs
  EXPECT_EQ(log.costs().prepare_s, 2);
  EXPECT_EQ(log.costs().timing_s, 2);
  log.add({.index = 1, .prepare_s = 1, .timing_s = 0.25});
  log.add({.index = 1, .prepare_s = 1, .timing_s = 0.5});
  EXPECT_EQ(log.costs().prepare_s, 2) << "a later trial replaces the earlier one";
  EXPECT_EQ(log.costs().timing_s, 0.5);
}

TEST(Trial, TheSpreadOfAMeasurementIsRelativeToItsMedian) {
  EXPECT_EQ(spread_of({}), 0);
  EXPECT_DOUBLE_EQ(spread_of({.median_us = 200, .spread_us = 5}), 0.025);
}

}  // namespace
}  // namespace attune
