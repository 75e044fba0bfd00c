// SPDX-License-Identifier: MIT
#include "core/group_estimate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace attune {
namespace {

using Groups = std::vector<std::vector<double>>;

/// Groups of normal values around `center`, whose own locations vary by `between`.
Groups drawn_groups(size_t num_groups, size_t num_values, double between, uint64_t seed) {
  constexpr double kCenter = 0.02, kWithin = 0.03;
  Random random(seed);
  Groups groups(num_groups);
  for (auto& group : groups) {
    const double own = kCenter + between * random.normal();
    for (size_t i = 0; i < num_values; ++i) group.push_back(own + kWithin * random.normal());
  }
  return groups;
}

TEST(GroupEstimate, CountsAGroupOnceHoweverManyValuesItHas) {
  const Groups groups = {{1, 1, 1, 1, 1, 1, 1}, {4}, {}};
  const auto estimate = estimate_groups(groups);
  EXPECT_EQ(estimate.num_groups, 2u);
  EXPECT_DOUBLE_EQ(estimate.center, 2.5);
}

TEST(GroupEstimate, GroupsThatDifferAreJudgedByTheirNumber) {
  // Each group alone says that its location is above 0, with many values; three of them do not.
  const Groups groups = {Groups::value_type(50, 0.01), Groups::value_type(50, 0.02), Groups::value_type(50, 0.3)};
  const auto estimate = estimate_groups(groups);
  EXPECT_NEAR(estimate.degrees, 2, 1e-9);
  EXPECT_FALSE(estimate.exceeds(0, 0.025));
  EXPECT_LT(estimate.interval(0.95).low, 0);
  EXPECT_GT(estimate.interval(0.95).high, 0.3);
}

TEST(GroupEstimate, GroupsThatAgreeAreJudgedByTheirValues) {
  const auto estimate = estimate_groups(drawn_groups(3, 24, 0, 5));
  EXPECT_GT(estimate.degrees, 3);
  EXPECT_TRUE(estimate.exceeds(0.005, 0.025));
  EXPECT_FALSE(estimate.exceeds(0.03, 0.025));
}

TEST(GroupEstimate, AnIntervalHoldsTheLocationWhateverTheGroupsVary) {
  constexpr int kTrials = 400;
  for (const double between : {0.0, 0.01, 0.03, 0.4}) {
    int held = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const auto interval = estimate_groups(drawn_groups(3, 24, between, static_cast<uint64_t>(trial))).interval(0.97);
      held += interval.low <= 0.02 && 0.02 <= interval.high;
    }
    EXPECT_GT(held, 0.90 * kTrials) << between;
  }
}

TEST(GroupEstimate, OneGroupIsJudgedByItsValuesAndNoneProvesNothing) {
  const auto one = estimate_groups(drawn_groups(1, 24, 0, 1));
  EXPECT_EQ(one.degrees, 23);
  EXPECT_TRUE(one.exceeds(0, 0.025));
  EXPECT_FALSE(estimate_groups({}).exceeds(-1, 0.025));
}

TEST(GroupEstimate, ValuesWithoutNoiseHaveAnIntervalOfOnePoint) {
  const Groups groups = {{0.1, 0.1}, {0.1, 0.1}, {0.1, 0.1}};
  const auto estimate = estimate_groups(groups);
  EXPECT_TRUE(estimate.exceeds(0.099, 0.01));
  EXPECT_EQ(estimate.interval(0.95), (Interval{0.1, 0.1}));
}

}  // namespace
}  // namespace attune
