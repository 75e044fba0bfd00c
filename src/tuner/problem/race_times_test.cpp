// SPDX-License-Identifier: MIT
#include "tuner/problem/race_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

Candidate candidate(const std::string& solver, const std::string& config) {
  return {solver, "1", Config::parse(config)};
}

TEST(RaceTimes, NameTheBestOfEachSolverThatHasNoFinalist) {
  RaceTimes times;
  times.add(candidate("a", "x=1"), 10, 0);
  times.add(candidate("b", "x=1"), 30, 5);
  times.add(candidate("b", "x=2"), 20, 7);
  times.add(candidate("b", "x=3"), 0, 9);
  EXPECT_THAT(times.dropped_bests({"a"}), testing::ElementsAre(DroppedBest{candidate("b", "x=2"), 20, 7}));
  EXPECT_FALSE(times.us_of(candidate("b", "x=3"))) << "zero is no time";
}

TEST(RaceTimes, NameTheFastest) {
  RaceTimes times;
  times.add(candidate("a", "x=1"), 10, 0);
  times.add(candidate("b", "x=1"), 30, 5);
  times.add(candidate("b", "x=2"), 5, 7);
  EXPECT_THAT(times.fastest(2), testing::ElementsAre(candidate("b", "x=2"), candidate("a", "x=1")));
  EXPECT_EQ(times.fastest(9).size(), 3u);
}

/// Times of different rounds need not have the ratio of the pairs.
TEST(BestDefault, IsComparedByThePairsOfTheFinalWhereThereAreSome) {
  Decision decision;
  decision.winner = candidate("a", "x=1");
  decision.finalists = {{.candidate = decision.winner, .comparison = {.us = 10, .ratio = 1.5}},
                        {.candidate = candidate("b", "x=1"), .comparison = {.us = 13, .ratio = 1.25}}};
  const auto best = best_default(decision, {candidate("b", "x=1"), candidate("c", "x=1")}, {});
  ASSERT_TRUE(best);
  EXPECT_EQ(best->candidate, candidate("b", "x=1"));
  EXPECT_DOUBLE_EQ(best->ratio, 1.2);
  EXPECT_FALSE(best->screened);
}

TEST(BestDefault, ThatWasDroppedIsComparedByTheRace) {
  Decision decision;
  decision.winner = candidate("a", "x=1");
  decision.finalists = {{.candidate = decision.winner, .comparison = {.us = 11, .ratio = 1.4}},
                        {.candidate = candidate("b", "x=1"), .comparison = {.us = 15, .ratio = 1}}};
  RaceTimes race;
  race.add(decision.winner, 10, 0);
  race.add(candidate("c", "x=1"), 13, 0);
  const auto best = best_default(decision, {candidate("c", "x=1"), candidate("b", "x=1")}, race);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->candidate, candidate("c", "x=1"));
  EXPECT_DOUBLE_EQ(best->us, 13);
  EXPECT_DOUBLE_EQ(best->ratio, 1.3);
  EXPECT_TRUE(best->screened);
}

TEST(BestDefault, IsNoneWithoutTimesThatCanBeCompared) {
  Decision decision;
  decision.winner = candidate("a", "x=1");
  EXPECT_FALSE(best_default(decision, {candidate("b", "x=1")}, {}));
}

}  // namespace
}  // namespace attune
