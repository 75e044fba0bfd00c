// SPDX-License-Identifier: MIT
#include "measure/timing.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(Timing, ASampleIsDirtyFromTwoPercentOfWaitingOrBelowThreeQuartersOfTheClock) {
  EXPECT_FALSE(is_dirty({.delay_ratio = 0.019}, 0.75));
  EXPECT_TRUE(is_dirty({.delay_ratio = 0.02}, 1));
  EXPECT_TRUE(is_dirty({}, 0.74));
}

TEST(Timing, ABatchIsAsLongAsTheShortestSampleAndBounded) {
  EXPECT_EQ(batch_for(50, 200), 4u);
  EXPECT_EQ(batch_for(60, 200), 4u);
  EXPECT_EQ(batch_for(300, 200), 1u);
  EXPECT_EQ(batch_for(1e-9, 200), 4096u);
}

}  // namespace
}  // namespace attune
