// SPDX-License-Identifier: MIT
#include "search/strategy/lane_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(TakeTurns, AsksLanesInTheirOrderAndPassesOverIdleOnes) {
  std::vector<LaneState> lanes(3);
  const auto turns = take_turns();
  std::vector<size_t> order;
  const auto take = [&](int count) {
    for (int i = 0; i < count; ++i) order.push_back(turns->next(lanes));
  };
  take(4);
  lanes[1].idle = true;
  take(3);
  lanes[1].idle = false;
  take(2);
  lanes[0].idle = lanes[2].idle = true;
  take(2);
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 2, 0, 2, 0, 2, 0, 1, 1, 1));
}

TEST(TakeTurns, DoesNotLookAtWhatLanesFound) {
  std::vector<LaneState> lanes(2);
  lanes[1].trials.add({.index = 1, .median_us = 1});
  lanes[0].num_asked = 100;
  const auto turns = take_turns();
  EXPECT_EQ(turns->next(lanes), 0u);
  EXPECT_EQ(turns->next(lanes), 1u);
}

}  // namespace
}  // namespace attune
