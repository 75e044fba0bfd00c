// SPDX-License-Identifier: MIT
// Confirm and publish take their samples from fresh workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "search/contest.h"
#include "testing/synthetic_world.h"

namespace attune {
namespace {

constexpr SyntheticNoise kQuiet = {.white = 0.01, .drift = 0, .dirty = 0, .hidden = 0};

/// A contest of candidates whose times in an opening are given by the opening's number, from 0 (race and finals).
class OpeningsPlay {
 public:
  using Times = std::function<std::map<Slot, double>(uint32_t opening)>;
  OpeningsPlay(Times times, std::vector<Entrant> entrants, ContestOptions options = {})
      : times_(std::move(times)), entrants_(std::move(entrants)), contest_(std::move(options)) {}

  ContestResult result() {
    SyntheticWorld world(times_(0), kQuiet, 1);
    for (size_t num_joined = 0;;) {
      const ContestRequest want = contest_.next();
      if (std::holds_alternative<ContestEnd>(want)) return contest_.result();
      if (std::holds_alternative<WantEntrants>(want)) {
        while (num_joined < entrants_.size()) contest_.join(entrants_[num_joined++]);
        contest_.close();
      } else if (const auto* samples = std::get_if<WantSamples>(&want)) {
        std::vector<Sample> measured;
        for (const Turn& turn : samples->schedule) measured.push_back(world.sample(turn.slot));
        contest_.report(measured);
        if (contest_.phase() == Phase::confirm || contest_.phase() == Phase::publish)
          rounds_.push_back(samples->schedule.back().round - samples->schedule.front().round + 1);
      } else if (std::holds_alternative<WantFreshWorker>(want)) {
        ++num_openings;
        world = SyntheticWorld(times_(num_openings), kQuiet, num_openings + 1);
        contest_.renewed();
      } else {
        contest_.delayed();
      }
    }
  }
  uint32_t num_openings = 0;
  const std::vector<uint32_t>& rounds() const { return rounds_; }  ///< Rounds of each schedule after the finals.

 private:
  Times times_;
  std::vector<Entrant> entrants_;
  Contest contest_;
  std::vector<uint32_t> rounds_;
};

std::map<Slot, double> with(std::map<Slot, double> times, Slot slot, double us) {
  times[slot] = us;
  return times;
}

TEST(ContestOpenings, ACandidateThatIsLuckyInTheOpeningThatChoseItIsATie) {
  const std::map<Slot, double> usual = {{0, 100}, {1, 100}, {2, 105}};
  OpeningsPlay lucky([&](uint32_t opening) { return with(usual, 1, opening == 0 ? 70 : 100); }, entrants_of(usual));
  const auto result = lucky.result();
  EXPECT_EQ(result.verdict, Verdict::tie);
  EXPECT_EQ(result.winner, 0u);
  EXPECT_GE(lucky.num_openings, 3u);
}

TEST(ContestOpenings, ACandidateThatIsLuckyInOneOpeningOfTheConfirmIsNotCalledFaster) {
  const std::map<Slot, double> usual = {{0, 101}, {1, 100}};
  OpeningsPlay lucky([&](uint32_t opening) { return with(usual, 1, opening < 2 ? 70 : 100); }, entrants_of(usual));
  const auto result = lucky.result();
  EXPECT_EQ(result.verdict, Verdict::tie);
  EXPECT_EQ(lucky.num_openings, 8u) << "the openings differ, so that all are taken";
}

TEST(ContestOpenings, AClearGainIsFoundInThreeOpeningsOfAFewPairsEach) {
  const std::map<Slot, double> times = {{0, 110}, {1, 100}};
  OpeningsPlay clear([&](uint32_t) { return times; }, entrants_of(times));
  const auto result = clear.result();
  EXPECT_EQ(result.verdict, Verdict::faster);
  EXPECT_EQ(result.num_openings, 3u);
  EXPECT_THAT(clear.rounds(), testing::ElementsAre(24, 24, 24));
  EXPECT_EQ(result.comparison.num_clean, 72u);
}

TEST(ContestOpenings, TheIntervalCoversTheVariationBetweenTheOpenings) {
  const std::map<Slot, double> times = {{0, 200}, {1, 100}};
  const double us[] = {100, 95, 100, 110, 90, 105, 100, 98, 102};
  OpeningsPlay varying([&](uint32_t opening) { return with(times, 1, us[opening]); }, entrants_of(times));
  const auto result = varying.result();
  ASSERT_EQ(result.verdict, Verdict::faster);
  EXPECT_LT(result.comparison.interval.low, 200.0 / 110);
  EXPECT_GT(result.comparison.interval.high, 200.0 / 95);
  // The time is the mean over the openings, not that of most samples.
  double mean_us = 1;
  for (uint32_t i = 1; i <= result.num_openings; ++i) mean_us *= std::pow(us[i], 1.0 / result.num_openings);
  EXPECT_NEAR(result.comparison.us, mean_us, 0.01 * mean_us);
  EXPECT_NEAR(result.comparison.ratio, 200 / mean_us, 0.02);
}

TEST(ContestOpenings, TheFastestOfTheOpeningsTakesThePlaceOfOneThatWasLuckyInTheFinals) {
  const std::map<Slot, double> usual = {{0, 130}, {1, 100}, {2, 95}, {3, 97}};
  OpeningsPlay lucky([&](uint32_t opening) { return with(usual, 1, opening == 0 ? 92 : 100); }, entrants_of(usual));
  const auto result = lucky.result();
  EXPECT_EQ(result.verdict, Verdict::faster);
  EXPECT_EQ(result.winner, 2u);
  EXPECT_NEAR(result.comparison.ratio, 130.0 / 95, 0.01);
  EXPECT_NEAR(result.comparison.us, 95, 0.5);
}

TEST(ContestOpenings, TheFastestOfTheOpeningsMustBeProvenFasterThanTheDefaultConfigsItself) {
  const std::map<Slot, double> usual = {{0, 130}, {1, 100}, {2, 90}};
  // Faster than the others in the mean; slower than the default in one opening, so that nothing is proven of it.
  const auto times = [&](uint32_t opening) {
    const double other_us[] = {95, 75, 140, 75};
    return with(with(usual, 1, opening == 0 ? 92 : 100), 2, other_us[std::min(opening, 3u)]);
  };
  const auto result = OpeningsPlay(times, entrants_of(usual)).result();
  EXPECT_EQ(result.verdict, Verdict::faster);
  EXPECT_EQ(result.winner, 1u);
}

TEST(ContestOpenings, CandidatesThatTheOpeningsDoNotTellApartAreTied) {
  const std::map<Slot, double> usual = {{0, 130}, {1, 100}, {2, 100}, {3, 110}};
  const double us[] = {103, 104, 98, 101, 100, 100, 100, 100, 100};
  OpeningsPlay varying([&](uint32_t opening) { return with(usual, 2, us[opening]); }, entrants_of(usual));
  const auto result = varying.result();
  EXPECT_EQ(result.verdict, Verdict::faster);
  EXPECT_THAT(result.tied, testing::UnorderedElementsAre(1, 2)) << "the finals alone found 2 to be slower";
}

TEST(ContestOpenings, ACandidateThatIsSlowerInTheOpeningsIsNotTied) {
  const std::map<Slot, double> usual = {{0, 130}, {1, 100}, {2, 105}};
  OpeningsPlay lucky([&](uint32_t opening) { return with(usual, 2, opening == 0 ? 100 : 105); }, entrants_of(usual));
  const auto result = lucky.result();
  EXPECT_EQ(result.winner, 1u);
  EXPECT_THAT(result.tied, testing::ElementsAre(1)) << "the finals alone found no difference";
}

TEST(ContestOpenings, ABaselineThatWinsIsTimedInThreeOpenings) {
  const std::map<Slot, double> times = {{0, 100}, {1, 130}};
  const double us[] = {100, 120, 100, 140};
  OpeningsPlay slow([&](uint32_t opening) { return with(times, 0, us[opening]); }, entrants_of(times));
  const auto result = slow.result();
  EXPECT_EQ(result.verdict, Verdict::baseline);
  EXPECT_EQ(result.num_openings, 3u);
  EXPECT_THAT(slow.rounds(), testing::ElementsAre(7, 7, 7));
  EXPECT_NEAR(result.baseline_us, std::cbrt(120.0 * 100 * 140), 2);
}

TEST(ContestOpenings, AWinnerMustBeatADefaultConfigThatWasUnluckyInTheFinals) {
  const std::map<Slot, double> times = {{0, 130}, {1, 90}, {2, 100}};
  auto entrants = entrants_of(times);
  entrants[1].is_default = true;
  // It is slower than the winner when that is chosen, and faster in every other opening.
  OpeningsPlay unlucky([&](uint32_t opening) { return with(times, 1, opening == 0 ? 103 : 90); }, entrants);
  const auto result = unlucky.result();
  EXPECT_NE(result.winner, 2u);
  OpeningsPlay slow([&](uint32_t) { return with(times, 1, 103); }, entrants);
  EXPECT_EQ(slow.result().winner, 2u);
}

TEST(ContestOpenings, TheBestOfEachLayoutIsConfirmedBesideTheWinner) {
  const std::map<Slot, double> times = {{0, 110}, {1, 100}, {2, 104}, {3, 109.9}, {4, 101}};
  auto entrants = entrants_of(times);
  entrants[2].layout = "gains";
  entrants[3].layout = "gains not";
  OpeningsPlay packed([&](uint32_t) { return times; }, entrants);
  const auto result = packed.result();
  EXPECT_EQ(result.winner, 1u);
  std::map<Slot, bool> confirmed;
  for (const FinalistResult& one : result.finalists) confirmed[one.slot] = one.confirmed;
  EXPECT_EQ(confirmed, (std::map<Slot, bool>{{0, false}, {1, true}, {2, true}, {3, false}, {4, false}}));
}

/// False positives with offsets of each candidate in each opening; the simulation has more trials.
TEST(ContestOpenings, EqualCandidatesAreRarelyCalledFasterHoweverTheirOpeningsDiffer) {
  for (const double deviation : {0.02, 0.1, 0.4}) {
    int num_faster = 0;
    for (uint64_t seed = 0; seed < 60; ++seed) {
      SyntheticWorld world({{0, 100}, {1, 100}}, {.opening = deviation}, seed);
      ContestOptions options;
      options.seed = seed;
      Contest contest(options);
      num_faster += play(contest, world, entrants_of({{0, 100}, {1, 100}})).verdict == Verdict::faster;
    }
    EXPECT_LE(num_faster, 3) << deviation;
  }
}

}  // namespace
}  // namespace attune
