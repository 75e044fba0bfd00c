// SPDX-License-Identifier: MIT
#include "search/strategy/solver_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(TakeTurns, AsksSolversInTheirOrderAndPassesOverIdleOnes) {
  std::vector<SolverState> solvers(3);
  const auto turns = take_turns();
  std::vector<size_t> order;
  const auto take = [&](int count) {
    for (int i = 0; i < count; ++i) order.push_back(turns->next(solvers));
  };
  take(4);
  solvers[1].idle = true;
  take(3);
  solvers[1].idle = false;
  take(2);
  solvers[0].idle = solvers[2].idle = true;
  take(2);
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 2, 0, 2, 0, 2, 0, 1, 1, 1));
}

TEST(TakeTurns, DoesNotLookAtWhatSolversFound) {
  std::vector<SolverState> solvers(2);
  solvers[1].trials.add({.index = 1, .median_us = 1});
  solvers[0].num_asked = 100;
  const auto turns = take_turns();
  EXPECT_EQ(turns->next(solvers), 0u);
  EXPECT_EQ(turns->next(solvers), 1u);
}

}  // namespace
}  // namespace attune
