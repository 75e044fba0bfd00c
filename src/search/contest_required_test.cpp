// SPDX-License-Identifier: MIT
// Entrants that may not win: what a winner is compared with, though it lacks what a winner must have.
#include <gtest/gtest.h>

#include <set>

#include "testing/synthetic_world.h"

namespace attune {
namespace {

/// Entrants of which slots below `num_barred` may not win; slots below `num_defaults` are default configs, slot 0 is
/// the baseline.
std::vector<Entrant> with_barred(const std::map<Slot, double>& times, Slot num_defaults, const std::set<Slot>& barred) {
  auto entrants = entrants_of(times);
  for (Entrant& one : entrants) {
    one.is_default = one.slot < num_defaults;
    one.may_win = !barred.contains(one.slot);
  }
  return entrants;
}

ContestResult decide_with_barred(const std::map<Slot, double>& times, Slot num_defaults, const std::set<Slot>& barred) {
  SyntheticWorld world(times, {.white = 0.005, .drift = 0.001, .dirty = 0, .hidden = 0}, 2);
  Contest contest({.seed = 2});
  return play(contest, world, with_barred(times, num_defaults, barred));
}

TEST(ContestRequired, AFasterOneThatMayNotWinLeavesTheRowToTheBestThatMay) {
  const auto result = decide_with_barred({{0, 100}, {1, 150}, {2, 130}, {3, 60}}, 1, {0, 3});
  EXPECT_TRUE(result.decided);
  EXPECT_EQ(result.winner, 2u);
  EXPECT_EQ(result.baseline, 0u);
  EXPECT_EQ(result.verdict, Verdict::required);
  EXPECT_NEAR(result.comparison.ratio, 100.0 / 130, 0.01) << "the cost, over the baseline as always";
  EXPECT_GE(result.num_openings, 3u);
}

TEST(ContestRequired, TheFastRivalThatMayNotWinDropsNobodyFromTheRace) {
  std::map<Slot, double> times = {{0, 10}};
  for (Slot slot = 1; slot < 24; ++slot) times[slot] = 100 + slot;
  EXPECT_EQ(decide_with_barred(times, 1, {0}).winner, 1u);
}

TEST(ContestRequired, OneThatBeatsABarredBaselineIsFaster) {
  const auto result = decide_with_barred({{0, 100}, {1, 80}, {2, 90}}, 1, {0});
  EXPECT_EQ(result.winner, 1u);
  EXPECT_EQ(result.verdict, Verdict::faster);
  EXPECT_NEAR(result.comparison.ratio, 1.25, 0.01);
}

TEST(ContestRequired, ABaselineThatMayWinIsKeptOnATie) {
  const auto result = decide_with_barred({{0, 100}, {1, 99.9}, {2, 60}}, 1, {2});
  EXPECT_EQ(result.winner, 0u);
  EXPECT_EQ(result.verdict, Verdict::tie);
}

TEST(ContestRequired, OneThatBeatsTheBaselineAndNotABarredLibraryHasTheRow) {
  // Slot 1 is a library's own config and faster than all, but it may not win.
  const auto result = decide_with_barred({{0, 100}, {1, 60}, {2, 80}, {3, 95}}, 2, {1});
  EXPECT_EQ(result.winner, 2u);
  EXPECT_EQ(result.verdict, Verdict::required);
  EXPECT_NEAR(result.comparison.ratio, 1.25, 0.01);
}

TEST(ContestRequired, ALibraryThatMayWinStillDefendsItsRow) {
  const auto result = decide_with_barred({{0, 110}, {1, 100.2}, {2, 100}, {3, 50}}, 2, {3});
  EXPECT_EQ(result.winner, 1u) << "the tuned one beats it by less than the required gain";
  EXPECT_EQ(result.verdict, Verdict::faster);
}

TEST(ContestRequired, WithoutAnybodyWhoMayWinNothingIsDecided) {
  const auto result = decide_with_barred({{0, 100}, {1, 80}}, 1, {0, 1});
  EXPECT_FALSE(result.decided);
}

TEST(ContestRequired, TheOnlyOneThatMayWinIsMeasuredInTheFinals) {
  const std::map<Slot, double> times = {{0, 100}, {1, 120}};
  SyntheticWorld world(times, {.white = 0.005, .drift = 0.001, .dirty = 0, .hidden = 0}, 2);
  Contest contest({.seed = 2});
  uint32_t num_turns = 0;
  const auto result =
      play(contest, world, with_barred(times, 1, {0}), [&](const std::vector<Turn>& turns, Phase phase) {
        for (const Turn& turn : turns) num_turns += phase == Phase::finals && turn.slot == 1;
      });
  EXPECT_GE(num_turns, 8u);
  EXPECT_FALSE(result.noisy);
  EXPECT_EQ(result.winner, 1u);
}

TEST(ContestRequired, ACutConfirmKeepsTheOneThatMayWin) {
  const std::map<Slot, double> times = {{0, 100}, {1, 150}};
  SyntheticWorld world(times, {.white = 0.005, .drift = 0.001, .dirty = 0, .hidden = 0}, 2);
  Contest contest({.seed = 2});
  const auto result = play(contest, world, with_barred(times, 1, {0}), [&](const std::vector<Turn>&, Phase phase) {
    if (phase == Phase::confirm) contest.cut();
  });
  EXPECT_EQ(result.winner, 1u);
  EXPECT_EQ(result.verdict, Verdict::required);
}

}  // namespace
}  // namespace attune
