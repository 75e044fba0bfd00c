// SPDX-License-Identifier: MIT
// Faults while a contest runs: unusual conditions, a spent budget, deaths.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "search/contest.h"
#include "testing/synthetic_world.h"

namespace attune {
namespace {

using testing::Contains;
using testing::Not;

constexpr SyntheticNoise kSteady = {.white = 0.002, .drift = 0, .dirty = 0, .hidden = 0};

std::vector<Sample> measure(SyntheticWorld& world, const std::vector<Turn>& schedule) {
  std::vector<Sample> samples;
  for (const auto& turn : schedule) samples.push_back(world.sample(turn.slot));
  return samples;
}
/// Plays until a phase wants samples. That schedule is not reported yet.
std::vector<Turn> play_to(Contest& contest, SyntheticWorld& world, const std::vector<Entrant>& entrants, Phase phase) {
  size_t num_joined = 0;
  while (true) {
    const ContestRequest want = contest.next();
    if (std::holds_alternative<ContestEnd>(want)) return {};
    if (std::holds_alternative<WantEntrants>(want)) {
      while (num_joined < entrants.size()) contest.join(entrants[num_joined++]);
      contest.close();
    } else if (const auto* samples = std::get_if<WantSamples>(&want)) {
      if (contest.phase() == phase) return samples->schedule;
      contest.report(measure(world, samples->schedule));
    } else if (std::holds_alternative<WantFreshWorker>(want)) {
      world.reopen();
      contest.renewed();
    } else {
      contest.delayed();
    }
  }
}
uint32_t num_rounds(const std::vector<Turn>& schedule) {
  return schedule.empty() ? 0 : schedule.back().round - schedule.front().round + 1;
}

TEST(ContestFaults, ABlockAtAnotherClockIsMeasuredAgainAndTheDecisionIsNoisy) {
  const std::map<Slot, double> times = {{0, 110}, {1, 100}};
  for (const bool moves : {false, true}) {
    SyntheticWorld world(times, kSteady, 1);
    Contest contest({});
    uint32_t final_rounds = 0;
    const auto result = play(contest, world, entrants_of(times), [&](const std::vector<Turn>& schedule, Phase phase) {
      if (phase == Phase::finals) final_rounds += num_rounds(schedule);
      world.clock = moves && phase == Phase::finals ? 0.9f : 1.0f;
    });
    EXPECT_EQ(final_rounds, moves ? 16u : 8u);
    EXPECT_EQ(result.noisy, moves);
    EXPECT_EQ(result.winner, 1u);
    EXPECT_EQ(contest.measurement(1).dropped_samples, moves ? 8u : 0u);
  }
}

TEST(ContestFaults, AClockThatMovesAtEveryLookStillEnds) {
  const std::map<Slot, double> times = {{0, 100}, {1, 100}};
  SyntheticWorld world(times, kSteady, 1);
  Contest contest({});
  float clock = 1;
  const auto result =
      play(contest, world, entrants_of(times), [&](const auto&, Phase) { world.clock = clock *= 0.9f; });
  EXPECT_TRUE(result.noisy);
  EXPECT_EQ(result.winner, 0u);
}

TEST(ContestFaults, AnExhaustiveContestWhoseEntrantsAllLeaveDecidesNothing) {
  const std::map<Slot, double> times = {{0, 110}, {1, 100}};
  SyntheticWorld world(times, kSteady, 1);
  Contest contest = Contest::exhaustive(0, 31, {});
  EXPECT_TRUE(play(contest, world, entrants_of(times)).decided);
  for (const Slot slot : {0u, 1u}) contest.withdraw(slot);  // They were wrong when they were verified again.
  EXPECT_TRUE(std::holds_alternative<ContestEnd>(contest.next()));
  EXPECT_FALSE(contest.result().decided);
  EXPECT_TRUE(contest.result().finalists.empty());
}

/// A decision with a dirty final in which slot 1 is faster by `gain`.
ContestResult decide_dirty(double gain, bool incumbent, double dirty) {
  const std::map<Slot, double> times = {{0, 100 * (1 + gain)}, {1, 100}};
  SyntheticWorld world(times, kSteady, 1);
  auto entrants = entrants_of(times);
  entrants[1].incumbent = incumbent;
  Contest contest({});
  return play(contest, world, entrants,
              [&](const auto&, Phase phase) { world.noise().dirty = phase == Phase::finals ? dirty : 0; });
}

TEST(ContestFaults, ANoisyDecisionWantsTwoPercentOfANewWinner) {
  EXPECT_EQ(decide_dirty(0.015, false, 0).verdict, Verdict::faster);
  EXPECT_EQ(decide_dirty(0.015, false, 0.6).verdict, Verdict::tie);
  EXPECT_EQ(decide_dirty(0.03, false, 0.6).verdict, Verdict::faster);
  EXPECT_TRUE(decide_dirty(0.03, false, 0.6).noisy);
}

TEST(ContestFaults, ANoisyDecisionMayKeepTheIncumbentAtTheUsualGain) {
  const auto result = decide_dirty(0.015, true, 0.6);
  EXPECT_TRUE(result.noisy);
  EXPECT_EQ(result.winner, 1u);
  EXPECT_EQ(result.verdict, Verdict::faster);
}

TEST(ContestFaults, SamplesThatAreAllDirtyEndInANoisyDecision) {
  const std::map<Slot, double> times = {{0, 100}, {1, 101}, {2, 102}};
  SyntheticWorld world(times, {.dirty = 1.0}, 1);
  Contest contest({});
  const auto result = play(contest, world, entrants_of(times));
  EXPECT_TRUE(result.noisy);
  EXPECT_EQ(result.winner, 0u);
  EXPECT_EQ(result.comparison.num_clean, 0u);
}

TEST(ContestFaults, TurnsWithoutAUsableSampleDoNotKeepItFromEnding) {
  Contest contest({});
  contest.next();
  for (Slot slot = 0; slot < 3; ++slot) contest.join({.slot = slot, .name = "c", .baseline = slot == 0});
  contest.close();
  for (int i = 0; i < 1000; ++i) {
    const auto want = contest.next();
    if (std::holds_alternative<ContestEnd>(want)) break;
    if (std::holds_alternative<WantDelay>(want)) contest.delayed();
    if (std::holds_alternative<WantFreshWorker>(want)) contest.renewed();
    if (const auto* samples = std::get_if<WantSamples>(&want)) {
      contest.report(std::vector<Sample>(samples->schedule.size(), Sample{.us = 0}));
    }
  }
  ASSERT_EQ(contest.phase(), Phase::finished);
  EXPECT_FALSE(contest.result().decided);
  EXPECT_GT(contest.measurement(0).dropped_samples, 0u);
}

TEST(ContestFaults, ABudgetCutBeforeTheEndOfTheFinalsDecidesNothing) {
  for (const Phase phase : {Phase::race, Phase::finals}) {
    const std::map<Slot, double> times = {{0, 100}, {1, 100}, {2, 100}};
    SyntheticWorld world(times, {}, 1);
    Contest contest({});
    ASSERT_FALSE(play_to(contest, world, entrants_of(times), phase).empty());
    contest.cut();
    EXPECT_TRUE(std::holds_alternative<ContestEnd>(contest.next()));
    EXPECT_FALSE(contest.result().decided);
  }
}

TEST(ContestFaults, ABudgetCutInConfirmIsATieAndInPublishKeepsTheVerdict) {
  for (const Phase phase : {Phase::confirm, Phase::publish}) {
    const std::map<Slot, double> times = {{0, 110}, {1, phase == Phase::confirm ? 100.0 : 112.0}};
    SyntheticWorld world(times, {}, 1);
    Contest contest({});
    ASSERT_FALSE(play_to(contest, world, entrants_of(times), phase).empty());
    contest.cut();
    EXPECT_TRUE(std::holds_alternative<ContestEnd>(contest.next()));
    const auto result = contest.result();
    EXPECT_TRUE(result.decided);
    EXPECT_EQ(result.verdict, phase == Phase::confirm ? Verdict::tie : Verdict::baseline);
    EXPECT_EQ(result.winner, 0u);
    EXPECT_EQ(result.num_openings, 0u) << "no opening was complete";
    EXPECT_THAT(result.tied, Contains(result.winner));
    EXPECT_EQ(result.finalists.size(), 2u);
    EXPECT_GT(result.baseline_us, 100);
  }
}

TEST(ContestFaults, ACutExhaustiveContestReportsButDecidesNothing) {
  const std::map<Slot, double> times = {{0, 110}, {1, 100}};
  SyntheticWorld world(times, {}, 1);
  auto contest = Contest::exhaustive(0, 5000, {});
  contest.report(measure(world, play_to(contest, world, entrants_of(times), Phase::finals)));
  contest.cut();
  EXPECT_TRUE(std::holds_alternative<ContestEnd>(contest.next()));
  EXPECT_FALSE(contest.result().decided);
  EXPECT_EQ(contest.result().winner, 1u);
}

TEST(ContestFaults, WithoutABaselineThereIsOnlyAReport) {
  const std::map<Slot, double> times = {{1, 100}, {2, 120}, {3, 130}};
  SyntheticWorld world(times, {}, 1);
  Contest contest({});
  const auto result = play(contest, world, entrants_of(times));
  EXPECT_FALSE(result.decided);
  EXPECT_EQ(result.winner, 1u);
  ASSERT_FALSE(result.finalists.empty());
  EXPECT_EQ(result.finalists.front().slot, 1u);
  EXPECT_NEAR(result.finalists.front().comparison.us, 100, 3);
  EXPECT_EQ(result.finalists.front().comparison.ratio, 1);
}

TEST(ContestFaults, NobodyJoiningEndsUndecided) {
  Contest contest({});
  EXPECT_TRUE(std::holds_alternative<WantEntrants>(contest.next()));
  contest.close();
  EXPECT_TRUE(std::holds_alternative<ContestEnd>(contest.next()));
  EXPECT_FALSE(contest.result().decided);
}

TEST(ContestFaults, NextRepeatsAScheduleThatWasNotReported) {
  const std::map<Slot, double> times = {{0, 100}, {1, 100}};
  SyntheticWorld world(times, {}, 1);
  Contest contest({});
  const auto schedule = play_to(contest, world, entrants_of(times), Phase::finals);
  EXPECT_EQ(std::get<WantSamples>(contest.next()).schedule, schedule);
}

TEST(ContestFaults, AnInterruptedFinalStartsAgainWithNewRounds) {
  const std::map<Slot, double> times = {{0, 110}, {1, 100}};
  SyntheticWorld world(times, kSteady, 1);
  Contest contest({});
  const auto lost = play_to(contest, world, entrants_of(times), Phase::finals);
  const uint32_t pairing = contest.pairing();
  contest.interrupt();
  EXPECT_NE(contest.pairing(), pairing) << "samples of another worker may follow";
  const auto schedule = std::get<WantSamples>(contest.next()).schedule;
  EXPECT_EQ(contest.phase(), Phase::finals);
  EXPECT_GT(schedule.front().round, lost.back().round);
  EXPECT_EQ(num_rounds(schedule), 8u);
  contest.report(measure(world, schedule));
  EXPECT_TRUE(std::holds_alternative<WantDelay>(contest.next()));
  EXPECT_EQ(play(contest, world, {}).winner, 1u);
}

TEST(ContestFaults, AnInterruptedOpeningIsRepeatedAndTheOthersStay) {
  for (const Phase phase : {Phase::confirm, Phase::publish}) {
    const std::map<Slot, double> times = {{0, 110}, {1, phase == Phase::confirm ? 100.0 : 120.0}};
    SyntheticWorld world(times, kSteady, 1);
    Contest contest({});
    contest.report(measure(world, play_to(contest, world, entrants_of(times), phase)));
    const auto lost = play_to(contest, world, {}, phase);  // the second opening
    contest.interrupt();
    ASSERT_TRUE(std::holds_alternative<WantFreshWorker>(contest.next()));
    EXPECT_EQ(contest.phase(), phase) << "the finals need not restart";
    const uint32_t num_openings = world.num_openings();
    std::set<uint32_t> rounds;
    const auto result = play(contest, world, {}, [&](const std::vector<Turn>& schedule, Phase) {
      for (const Turn& turn : schedule) rounds.insert(turn.round);
    });
    EXPECT_GT(*rounds.begin(), lost.back().round);
    EXPECT_EQ(world.num_openings(), num_openings + 2) << "the second again, and the third";
    EXPECT_EQ(result.num_openings, 3u);
    EXPECT_EQ(result.winner, phase == Phase::confirm ? 1u : 0u);
  }
}

TEST(ContestFaults, AnInterruptedRaceKeepsWhatItMeasured) {
  const std::map<Slot, double> times = {{0, 110}, {1, 100}};
  SyntheticWorld world(times, kSteady, 1);
  Contest contest({});
  contest.report(measure(world, play_to(contest, world, entrants_of(times), Phase::race)));
  contest.next();
  contest.interrupt();
  EXPECT_EQ(contest.measurement(1).samples.size(), 5u);
  EXPECT_EQ(num_rounds(std::get<WantSamples>(contest.next()).schedule), 1u);
}

TEST(ContestFaults, AWithdrawnFinalistTakesNoFurtherPart) {
  const std::map<Slot, double> times = {{0, 110}, {1, 100}, {2, 104}};
  for (const Phase phase : {Phase::race, Phase::finals, Phase::confirm}) {
    SyntheticWorld world(times, kSteady, 1);
    Contest contest({});
    play_to(contest, world, entrants_of(times), phase);
    contest.withdraw(1);
    const auto result = play(contest, world, {}, [](const std::vector<Turn>& schedule, Phase) {
      EXPECT_THAT(schedule, Not(Contains(testing::Field(&Turn::slot, 1u))));
    });
    EXPECT_EQ(result.winner, 2u);
    EXPECT_THAT(contest.finalists(), Not(Contains(1u)));
    EXPECT_THAT(contest.take_dropped(), Not(Contains(1u)));
  }
}

TEST(ContestFaults, AnotherBaselineTakesThePlaceOfOneThatDied) {
  const std::map<Slot, double> times = {{0, 110}, {1, 100}, {2, 108}, {3, 107}};
  for (const Slot next : {2u, 3u}) {  // a finalist, or a new entrant
    SyntheticWorld world(times, kSteady, 1);
    Contest contest({});
    auto entrants = entrants_of(times);
    entrants.pop_back();
    play_to(contest, world, entrants, Phase::finals);
    contest.withdraw(0);
    contest.join({.slot = next, .name = "next", .baseline = true});
    const auto result = play(contest, world, {});
    EXPECT_TRUE(result.decided);
    EXPECT_EQ(result.baseline, next);
    EXPECT_EQ(result.winner, 1u);
    EXPECT_NEAR(result.comparison.ratio, times.at(next) / 100, 0.01);
  }
}

TEST(ContestFaults, AWinnerNeedsAsManyCleanPairsAsTheFirstLook) {
  const std::map<Slot, double> times = {{0, 1000}, {1, 100}};
  for (const double dirty : {0.0, 1.0}) {
    SyntheticWorld world(times, kSteady, 1);
    Contest contest({});
    const auto result = play(contest, world, entrants_of(times), [&](const auto&, Phase phase) {
      world.noise().dirty = phase == Phase::confirm ? dirty : 0;
    });
    EXPECT_EQ(result.verdict, dirty > 0 ? Verdict::tie : Verdict::faster);
    EXPECT_EQ(result.winner, dirty > 0 ? 0u : 1u) << "the baseline serves, though the other seems ten times as fast";
    EXPECT_EQ(result.reason,
              dirty > 0 ? "other work disturbed the samples: 0 clean pairs with the default, 8 are needed" : "");
  }
}

TEST(ContestFaults, AnExhaustiveWinnerNeedsCleanPairsToo) {
  const std::map<Slot, double> times = {{0, 1000}, {1, 100}};
  for (const double dirty : {0.0, 1.0}) {
    SyntheticWorld world(times, kSteady, 1);
    world.noise().dirty = dirty;
    Contest contest = Contest::exhaustive(1, 20, {});
    const auto result = play(contest, world, entrants_of(times));
    EXPECT_EQ(result.verdict, dirty > 0 ? Verdict::tie : Verdict::faster);
    EXPECT_EQ(result.reason.empty(), dirty == 0);
  }
}

TEST(ContestFaults, ADeniedResultKeepsTheBaselineAndSaysWhy) {
  const std::map<Slot, double> times = {{0, 110}, {1, 100}};
  SyntheticWorld world(times, kSteady, 1);
  Contest contest({});
  ASSERT_EQ(play(contest, world, entrants_of(times)).verdict, Verdict::faster);
  contest.deny("another was as fast");
  EXPECT_EQ(contest.result().verdict, Verdict::tie);
  EXPECT_EQ(contest.result().winner, 0u);
  EXPECT_EQ(contest.result().reason, "another was as fast");
  for (const FinalistResult& one : contest.result().finalists) EXPECT_FALSE(one.confirmed);
}

TEST(ContestFaults, ADecidedContestIsDecidedAnewWithoutAWithdrawnWinner) {
  const std::map<Slot, double> times = {{0, 110}, {1, 99}, {2, 100}};
  SyntheticWorld world(times, kSteady, 1);
  Contest contest({});
  ASSERT_EQ(play(contest, world, entrants_of(times)).winner, 1u);
  contest.withdraw(1);
  EXPECT_EQ(contest.phase(), Phase::finals);
  const auto result = play(contest, world, {});
  EXPECT_EQ(result.winner, 2u);
  EXPECT_EQ(result.verdict, Verdict::faster);
}

}  // namespace
}  // namespace attune
