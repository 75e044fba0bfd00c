// SPDX-License-Identifier: MIT
#include "search/contest.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "testing/synthetic_world.h"

namespace attune {
namespace {

using testing::Contains;
using testing::Not;
using testing::UnorderedElementsAreArray;

std::map<Slot, double> equal_times(size_t n) {
  std::map<Slot, double> times;
  for (Slot slot = 0; slot < n; ++slot) times[slot] = 100;
  return times;
}
std::map<Slot, double> spread_times(size_t n, uint64_t seed) {
  Random random(seed);
  std::map<Slot, double> times;
  for (Slot slot = 0; slot < n; ++slot) times[slot] = 100 * (1 + std::abs(0.4 * random.normal()));
  return times;
}
ContestOptions options_of(uint64_t seed) {
  ContestOptions options;
  options.seed = seed;
  return options;
}
ContestResult decide(const std::map<Slot, double>& times, SyntheticNoise noise, uint64_t seed) {
  SyntheticWorld world(times, noise, seed);
  Contest contest(options_of(seed));
  return play(contest, world, entrants_of(times));
}

struct Size {
  size_t num_candidates;
  double dirty;
};
class ContestOfAnySize : public testing::TestWithParam<Size> {};

TEST_P(ContestOfAnySize, EndsWithARowThatNamesARealCandidate) {
  const auto times = spread_times(GetParam().num_candidates, 5);
  const auto result = decide(times, {.dirty = GetParam().dirty}, 3);
  EXPECT_TRUE(result.decided);
  EXPECT_TRUE(times.contains(result.winner));
  EXPECT_GT(result.comparison.us, 0);
  EXPECT_GT(result.baseline_us, 0);
  EXPECT_LE(result.comparison.interval.low, result.comparison.ratio);
  EXPECT_LE(result.comparison.ratio, result.comparison.interval.high);
  EXPECT_THAT(result.tied, Contains(result.winner));
  EXPECT_LE(result.finalists.size(), 9u);
  EXPECT_LE(times.at(result.winner), times.at(0) * 1.001);
}
INSTANTIATE_TEST_SUITE_P(Sizes, ContestOfAnySize,
                         testing::Values(Size{1, 0.02}, Size{2, 0.02}, Size{3, 0.02}, Size{8, 0.02}, Size{31, 0.02},
                                         Size{100, 0.02}, Size{400, 0.02}, Size{1, 0.7}, Size{2, 0.7}, Size{3, 0.7},
                                         Size{8, 0.7}, Size{31, 0.7}, Size{100, 0.7}, Size{400, 0.7}, Size{1, 1.0},
                                         Size{31, 1.0}),
                         [](const auto& suite) {
                           return fmt::format("{}of{}percentDirty", suite.param.num_candidates,
                                              static_cast<int>(100 * suite.param.dirty));
                         });

TEST(Contest, WithoutNoiseTakesTheFastest) {
  const auto result = decide({{0, 110}, {1, 100}, {2, 103}, {3, 140}}, {0, 0, 0, 0}, 1);
  EXPECT_EQ(result.verdict, Verdict::faster);
  EXPECT_EQ(result.winner, 1u);
  EXPECT_FALSE(result.noisy);
  EXPECT_NEAR(result.comparison.ratio, 1.1, 1e-6);
  EXPECT_NEAR(result.comparison.us, 100, 1e-3);
  EXPECT_NEAR(result.baseline_us, 110, 1e-3);
  EXPECT_GE(result.comparison.num_clean, 21u);
  EXPECT_THAT(result.tied, testing::ElementsAre(1));
}

TEST(Contest, KeepsTheBaselineWhenItIsTheBest) {
  std::map<Slot, double> times = {{0, 100}};
  for (Slot slot = 1; slot <= 20; ++slot) times[slot] = 103 + slot;
  const auto result = decide(times, {}, 2);
  EXPECT_EQ(result.verdict, Verdict::baseline);
  EXPECT_EQ(result.winner, 0u);
  EXPECT_EQ(result.comparison.ratio, 1);
  EXPECT_GE(result.comparison.num_clean, 21u);
}

TEST(Contest, FindsAFivePercentGainWithAnIntervalThatHoldsIt) {
  int covered = 0;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const auto result = decide({{0, 105}, {1, 100}, {2, 112}, {3, 120}}, {}, seed);
    EXPECT_EQ(result.winner, 1u);
    EXPECT_EQ(result.verdict, Verdict::faster);
    covered += result.comparison.interval.low <= 1.05 && 1.05 <= result.comparison.interval.high;
  }
  EXPECT_GE(covered, 3);
}

TEST(Contest, CallsEqualCandidatesATieOrTheBaseline) {
  int faster = 0;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const auto result = decide(equal_times(10), {}, seed);
    faster += result.verdict == Verdict::faster;
    EXPECT_EQ(result.winner == 0, result.verdict != Verdict::faster);
    EXPECT_GT(result.tied.size(), 2u);
  }
  EXPECT_LE(faster, 1);
}

TEST(Contest, AGainBelowMinGainStaysATieThatNamesTheTiedSet) {
  const auto result = decide({{0, 100.4}, {1, 100}}, {.white = 0.0005, .drift = 0, .dirty = 0, .hidden = 0}, 1);
  EXPECT_EQ(result.verdict, Verdict::tie);
  EXPECT_EQ(result.winner, 0u);
  EXPECT_THAT(result.tied, UnorderedElementsAreArray({0, 1}));
  EXPECT_EQ(result.comparison.ratio, 1);
}

TEST(Contest, KeepsTheIncumbentWhenItIsTied) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const std::map<Slot, double> times = {{0, 115}, {1, 100}, {2, 100}, {3, 100.2}, {4, 130}};
    SyntheticWorld world(times, {.white = 0.005, .drift = 0.001}, seed);
    auto entrants = entrants_of(times);
    entrants[3].incumbent = true;
    Contest contest(options_of(seed));
    EXPECT_EQ(play(contest, world, entrants).winner, 3u);
  }
}

TEST(Contest, LeavesTheIncumbentForAFasterCandidate) {
  const std::map<Slot, double> times = {{0, 115}, {1, 100}, {2, 106}};
  SyntheticWorld world(times, {.white = 0.005}, 1);
  auto entrants = entrants_of(times);
  entrants[2].incumbent = true;
  Contest contest(options_of(1));
  EXPECT_EQ(play(contest, world, entrants).winner, 1u);
}

TEST(Contest, EqualMediansGoToTheLesserWorkspaceThenTheName) {
  const std::map<Slot, double> times = {{0, 150}, {1, 100}, {2, 100}, {3, 100}};
  auto entrants = entrants_of(times);
  entrants[1].workspace_bytes = 64;
  entrants[2].name = "z";
  entrants[3].name = "b";
  SyntheticWorld world(times, {0, 0, 0, 0}, 1);
  Contest contest(options_of(1));
  EXPECT_EQ(play(contest, world, entrants).winner, 3u);
  entrants[3].workspace_bytes = 128;
  Contest another(options_of(1));
  EXPECT_EQ(play(another, world, entrants).winner, 2u);
}

std::vector<Turn> all_turns(uint64_t contest_seed, uint64_t world_seed, Phase wanted_phase) {
  const auto times = equal_times(20);
  SyntheticWorld world(times, {}, world_seed);
  Contest contest(options_of(contest_seed));
  std::vector<Turn> turns;
  play(contest, world, entrants_of(times), [&](const std::vector<Turn>& schedule, Phase phase) {
    if (phase == wanted_phase) turns.insert(turns.end(), schedule.begin(), schedule.end());
  });
  return turns;
}

TEST(Contest, TheSameSeedAndReportsGiveTheSameSchedule) {
  EXPECT_EQ(all_turns(1, 1, Phase::finals), all_turns(1, 1, Phase::finals));
  EXPECT_NE(all_turns(1, 1, Phase::race), all_turns(2, 1, Phase::race));
}

TEST(Contest, EachRoundIsANewPermutationOfTheSameCandidates) {
  std::map<uint32_t, std::vector<Slot>> rounds;
  for (const auto& turn : all_turns(1, 1, Phase::finals)) rounds[turn.round].push_back(turn.slot);
  ASSERT_GE(rounds.size(), 8u);
  std::set<std::vector<Slot>> orders;
  std::set<std::pair<Slot, Slot>> neighbours;
  const size_t num_finalists = rounds.begin()->second.size();
  for (const auto& [round, order] : rounds) {
    EXPECT_EQ(std::set(order.begin(), order.end()).size(), num_finalists);
    EXPECT_EQ(order.size(), num_finalists);
    orders.insert(order);
    for (size_t i = 1; i < order.size(); ++i) neighbours.insert({order[i - 1], order[i]});
  }
  EXPECT_EQ(orders.size(), rounds.size());
  EXPECT_GT(neighbours.size(), num_finalists * (num_finalists - 1) / 2);  // a palindrome has 2 (n - 1)
}

TEST(Contest, BaselineAndIncumbentReachTheFinalsHoweverSlow) {
  auto times = spread_times(40, 3);
  times[0] = times[1] = 400;
  auto entrants = entrants_of(times);
  entrants[1].incumbent = true;
  SyntheticWorld world(times, {}, 1);
  Contest contest(options_of(1));
  play(contest, world, entrants);
  EXPECT_THAT(contest.finalists(), testing::AllOf(Contains(0u), Contains(1u)));
  EXPECT_LE(contest.finalists().size(), 10u);
}

TEST(Contest, TheBestOfEachLayoutReachesTheFinals) {
  auto times = equal_times(40);  // more than enough for the finals
  times[7] = 300;
  times[8] = 200;
  times[9] = 310;
  auto entrants = entrants_of(times);
  for (const Slot slot : {7, 8}) entrants[slot].layout = "host.vnni4x16.v1";
  entrants[9].layout = "host.rows.v1";
  SyntheticWorld world(times, {}, 1);
  Contest contest(options_of(1));
  play(contest, world, entrants);
  EXPECT_THAT(contest.finalists(), testing::AllOf(Contains(8u), Contains(9u), Not(Contains(7u))));
}

TEST(Contest, TheRaceOfEqualCandidatesEndsAfterTwentyFourRoundsOfEach) {
  std::map<Slot, int> counts;
  const auto times = equal_times(20);
  SyntheticWorld world(times, {}, 1);
  Contest contest(options_of(1));
  play(contest, world, entrants_of(times), [&](const std::vector<Turn>& schedule, Phase phase) {
    for (const auto& turn : schedule) counts[turn.slot] += phase == Phase::race;
  });
  for (const auto& [slot, count] : counts) EXPECT_LE(count, 25);
  EXPECT_EQ(counts[19], 24);  // joined last
  EXPECT_THAT(contest.finalists(), testing::SizeIs(testing::AllOf(testing::Ge(8u), testing::Le(9u))));
}

TEST(Contest, EveryoneIsEitherAFinalistOrReportedAsDroppedOnce) {
  auto times = spread_times(60, 3);
  for (Slot slot = 20; slot < 40; ++slot) times[slot] = 100;  // the race ends with more than finalists alive
  SyntheticWorld world(times, {}, 1);
  Contest contest(options_of(1));
  std::vector<Slot> seen;
  play(contest, world, entrants_of(times), [&](const std::vector<Turn>& schedule, Phase) {
    for (const Slot slot : contest.take_dropped()) seen.push_back(slot);
    for (const auto& turn : schedule) EXPECT_THAT(seen, Not(Contains(turn.slot)));
  });
  EXPECT_GT(seen.size(), 40u);
  for (const Slot slot : contest.finalists()) seen.push_back(slot);
  EXPECT_EQ(seen.size(), 60u);
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 60u);
}

TEST(Contest, ManyCandidatesCostAFractionOfMeasuringThemAll) {
  uint64_t num_samples = 0;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const auto times = spread_times(100, seed);
    SyntheticWorld world(times, {}, seed);
    Contest contest(options_of(seed));
    play(contest, world, entrants_of(times));
    num_samples += world.num_samples();
  }
  EXPECT_LT(static_cast<double>(num_samples), 0.2 * 106 * 100 * 4);
}

TEST(Contest, AsksForAtMostABatchARoundAndStopsMeasuringWhenNobodyComes) {
  Contest contest(options_of(1));
  const auto first = std::get<WantEntrants>(contest.next());
  EXPECT_EQ(first.max_count, 16u);
  for (Slot slot = 0; slot < 3; ++slot) contest.join({.slot = slot, .name = "c", .baseline = slot == 0});
  uint32_t num_rounds = 0;
  for (int i = 0; i < 200; ++i) {
    const auto want = contest.next();
    const auto* samples = std::get_if<WantSamples>(&want);
    if (!samples) continue;
    EXPECT_EQ(samples->schedule.size(),
              3u);  // one round: a candidate may join after it
    ++num_rounds;
    contest.report(std::vector<Sample>(samples->schedule.size(), Sample{.us = 100}));
  }
  EXPECT_EQ(num_rounds, 6u);
  EXPECT_TRUE(std::holds_alternative<WantEntrants>(contest.next()));
}

TEST(Contest, ShortlistedEntrantsGoStraightToTheFinals) {
  const std::map<Slot, double> times = {{0, 110}, {1, 100}, {2, 105}};
  auto entrants = entrants_of(times);
  for (auto& entrant : entrants) entrant.shortlisted = true;
  SyntheticWorld world(times, {}, 1);
  Contest contest(options_of(1));
  std::set<Phase> phases;
  const auto result = play(contest, world, entrants, [&](const auto&, Phase phase) { phases.insert(phase); });
  EXPECT_FALSE(phases.contains(Phase::race));
  EXPECT_EQ(result.winner, 1u);
}

TEST(Contest, ConfirmWaitsOnceForTheDelayAndABaselineThatWinsDoesNot) {
  for (const double other_us : {90.0, 120.0}) {
    Contest contest(options_of(1));
    contest.next();
    for (Slot slot = 0; slot < 2; ++slot) contest.join({.slot = slot, .name = "c", .baseline = slot == 0});
    contest.close();
    int num_delays = 0;
    for (auto want = contest.next(); !std::holds_alternative<ContestEnd>(want); want = contest.next()) {
      if (const auto* delay = std::get_if<WantDelay>(&want)) {
        EXPECT_EQ(delay->seconds, 5.0);
        EXPECT_EQ(contest.phase(), Phase::confirm);
        ++num_delays;
        contest.delayed();
        continue;
      }
      if (std::holds_alternative<WantFreshWorker>(want)) {
        contest.renewed();
        continue;
      }
      std::vector<Sample> samples;
      for (const auto& turn : std::get<WantSamples>(want).schedule) {
        samples.push_back({.us = static_cast<float>(turn.slot == 0 ? 100 : other_us)});
      }
      contest.report(samples);
    }
    EXPECT_EQ(num_delays, other_us < 100 ? 1 : 0);
  }
}

TEST(Contest, ConfirmRotatesTheWinnerTheDefaultConfigsAndTheBestOthers) {
  const std::map<Slot, double> times = {{0, 104}, {1, 100}, {2, 101}, {3, 101.2}, {4, 101.4}, {5, 104}};
  auto entrants = entrants_of(times);
  entrants[5].is_default = true;
  SyntheticWorld world(times, {.white = 0.002, .drift = 0.0, .dirty = 0, .hidden = 0}, 1);
  Contest contest(options_of(1));
  std::set<Slot> rotation;
  const auto result = play(contest, world, entrants, [&](const std::vector<Turn>& schedule, Phase phase) {
    if (phase != Phase::confirm) return;
    for (const auto& turn : schedule) rotation.insert(turn.slot);
  });
  EXPECT_THAT(rotation, UnorderedElementsAreArray({0, 1, 2, 5}));
  EXPECT_EQ(result.finalists.size(), 6u);
  for (const auto& finalist : result.finalists) EXPECT_GT(finalist.comparison.us, 99);
}

TEST(Contest, MaxPairsCapsTheLooksOfFinalsAndConfirm) {
  auto options = options_of(1);
  options.max_pairs = 20;
  const auto times = equal_times(4);
  SyntheticWorld world(times, {.dirty = 0}, 4);
  Contest contest(options);
  std::map<Phase, std::set<uint32_t>> rounds;
  play(contest, world, entrants_of(times), [&](const std::vector<Turn>& schedule, Phase phase) {
    for (const auto& turn : schedule) rounds[phase].insert(turn.round);
  });
  EXPECT_EQ(rounds[Phase::finals].size(), 16u);
  EXPECT_LE(rounds[Phase::confirm].size(), 20u);
}

/// The rounds that chose a winner flatter it, so the published figures come from later rounds.
TEST(Contest, PublishedTimesAreOfTheRoundsAfterTheChoice) {
  for (const bool gains : {true, false}) {
    const std::map<Slot, double> times = {{0, 100}, {1, gains ? 80.0 : 120.0}};
    SyntheticWorld before(times, {0, 0, 0, 0}, 1);
    ContestOptions options = options_of(1);
    options.finals.looks = {64};  // Most rounds belong to the choice.
    Contest contest(options);
    const std::vector<Entrant> entrants = entrants_of(times);
    // The machine slows down to half its speed once the winner is chosen.
    const auto result = [&] {
      size_t num_joined = 0;
      for (;;) {
        const ContestRequest want = contest.next();
        if (std::holds_alternative<ContestEnd>(want)) return contest.result();
        if (const auto* request = std::get_if<WantEntrants>(&want)) {
          for (; num_joined < entrants.size() && request->max_count > 0; ++num_joined)
            contest.join(entrants[num_joined]);
          contest.close();
        } else if (const auto* samples = std::get_if<WantSamples>(&want)) {
          const bool chosen = contest.phase() == Phase::confirm || contest.phase() == Phase::publish;
          std::vector<Sample> measured;
          for (const auto& turn : samples->schedule) {
            Sample sample = before.sample(turn.slot);
            sample.us *= chosen ? 2.0f : 1.0f;
            measured.push_back(sample);
          }
          contest.report(measured);
        } else if (std::holds_alternative<WantFreshWorker>(want)) {
          contest.renewed();
        } else {
          contest.delayed();
        }
      }
    }();
    ASSERT_TRUE(result.decided);
    EXPECT_FLOAT_EQ(static_cast<float>(result.comparison.us), gains ? 160.0f : 200.0f);
    EXPECT_FLOAT_EQ(static_cast<float>(result.baseline_us), 200.0f);
  }
}

TEST(Contest, MeasurementHoldsAllSamplesOfASlot) {
  const auto times = spread_times(5, 1);
  SyntheticWorld world(times, {}, 1);
  Contest contest(options_of(1));
  std::map<Slot, size_t> counts;
  play(contest, world, entrants_of(times), [&](const std::vector<Turn>& schedule, Phase) {
    for (const auto& turn : schedule) ++counts[turn.slot];
  });
  for (const auto& [slot, count] : counts) {
    const auto measurement = contest.measurement(slot);
    EXPECT_EQ(measurement.samples.size(), count);
    EXPECT_EQ(measurement.median_us, contest.median_us(slot));
    EXPECT_NEAR(measurement.median_us / times.at(slot), 1, 0.05);
    EXPECT_GT(measurement.spread_us, 0);
    EXPECT_FALSE(measurement.noisy);
  }
  EXPECT_EQ(contest.median_us(99), 0);
}

TEST(Contest, ExhaustiveGivesEveryoneExactlyTheRoundsAskedFor) {
  const std::map<Slot, double> times = {{0, 110}, {1, 100}, {2, 300}, {3, 101}};
  SyntheticWorld world(times, {0, 0, 0, 0}, 1);
  auto contest = Contest::exhaustive(5, 31, options_of(1));
  std::map<Slot, uint32_t> counts;
  const auto result = play(contest, world, entrants_of(times), [&](const std::vector<Turn>& schedule, Phase phase) {
    EXPECT_EQ(phase, Phase::finals);
    for (const auto& turn : schedule) ++counts[turn.slot];
  });
  for (const auto& [slot, us] : times) {
    EXPECT_EQ(counts[slot], 36u);
    EXPECT_EQ(contest.measurement(slot).samples.size(), 31u);
  }
  EXPECT_TRUE(result.decided);
  EXPECT_EQ(result.winner, 1u);
  EXPECT_EQ(result.verdict, Verdict::faster);
  EXPECT_NEAR(result.comparison.ratio, 1.1, 1e-6);
  ASSERT_EQ(result.finalists.size(), 4u);
  EXPECT_EQ(result.finalists[1].slot, 3u);
}

TEST(Contest, ExhaustiveEndsForNobodyAndForManyRounds) {
  auto nobody = Contest::exhaustive(5, 101, options_of(1));
  nobody.close();
  EXPECT_TRUE(std::holds_alternative<ContestEnd>(nobody.next()));
  EXPECT_FALSE(nobody.result().decided);
  const auto times = equal_times(3);
  SyntheticWorld world(times, {}, 1);
  auto contest = Contest::exhaustive(0, 2000, options_of(1));
  EXPECT_TRUE(play(contest, world, entrants_of(times)).decided);
  EXPECT_EQ(world.num_samples(), 6000u);
}

}  // namespace
}  // namespace attune
