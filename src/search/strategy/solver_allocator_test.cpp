// SPDX-License-Identifier: MIT
#include "search/strategy/solver_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

std::vector<size_t> order_of(SolverAllocator& allocator, std::span<const SolverState> solvers, int count) {
  std::vector<size_t> order;
  for (int i = 0; i < count; ++i) order.push_back(allocator.next(solvers));
  return order;
}

/// Results of as many candidates, the last of which is the fastest.
TrialLog results(uint64_t count, double best_us) {
  TrialLog log;
  for (uint64_t i = 0; i < count; ++i) log.add({.index = i, .median_us = best_us + static_cast<double>(count - 1 - i)});
  return log;
}

TEST(FavourLeaders, AsksSolversInTheirOrderAndPassesOverIdleOnes) {
  std::vector<SolverState> solvers(3);
  const auto allocator = favour_leaders();
  std::vector<size_t> order = order_of(*allocator, solvers, 4);
  const auto take = [&](int count) {
    for (const size_t solver : order_of(*allocator, solvers, count)) order.push_back(solver);
  };
  solvers[1].idle = true;
  take(3);
  solvers[1].idle = false;
  take(2);
  solvers[0].idle = solvers[2].idle = true;
  take(2);
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 2, 0, 2, 0, 2, 0, 1, 1, 1));
}

TEST(FavourLeaders, OneThatIsBehindTakesPartInOneOfEightTurns) {
  std::vector<SolverState> solvers(2);
  solvers[0].trials = results(24, 116);
  solvers[1].trials = results(1, 100);
  const auto order = order_of(*favour_leaders(), solvers, 90);
  EXPECT_EQ(std::ranges::count(order, 0u), 10);
  EXPECT_EQ(order[0], 0u);
  EXPECT_EQ(order[9], 0u);
}

TEST(FavourLeaders, NobodyIsBehindByLittleOrBeforeItHasShownEnough) {
  for (const auto& [count, us] : {std::pair{24u, 114.0}, std::pair{23u, 200.0}}) {
    std::vector<SolverState> solvers(2);
    solvers[0].trials = results(count, us);
    // What failed, or has no time yet, shows nothing.
    solvers[0].trials.add({.index = 1000, .status = Status::wrong_result});
    solvers[0].trials.add({.index = 1001});
    solvers[1].trials = results(50, 100);
    EXPECT_THAT(order_of(*favour_leaders(), solvers, 4), testing::ElementsAre(0, 1, 0, 1)) << count;
  }
}

/// What nobody else uses is not lost.
TEST(FavourLeaders, OneThatIsBehindIsAskedWhereTheOthersHaveNothingMore) {
  std::vector<SolverState> solvers(3);
  solvers[0].trials = results(40, 100);
  solvers[1].trials = results(40, 200);
  solvers[2].trials = results(40, 300);
  solvers[0].idle = true;
  const auto allocator = favour_leaders();
  for (int i = 0; i < 20; ++i) EXPECT_NE(allocator->next(solvers), 0u);
  solvers[1].idle = true;
  EXPECT_THAT(order_of(*allocator, solvers, 3), testing::ElementsAre(2, 2, 2));
}

}  // namespace
}  // namespace attune
