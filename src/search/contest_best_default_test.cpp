// SPDX-License-Identifier: MIT
// A winner must beat the best default: the fastest default config among the finalists.
#include <gtest/gtest.h>

#include <set>

#include "testing/synthetic_world.h"

namespace attune {
namespace {

ContestOptions default_options(uint64_t seed) {
  ContestOptions options;
  options.seed = seed;
  return options;
}

/// Entrants of which the first `num_defaults` are default configs; slot 0 is the baseline.
std::vector<Entrant> with_defaults(const std::map<Slot, double>& times, Slot num_defaults) {
  auto entrants = entrants_of(times);
  for (Entrant& one : entrants) one.is_default = one.slot < num_defaults;
  return entrants;
}

ContestResult decide_with_default(const std::map<Slot, double>& times, Slot num_defaults, uint64_t seed) {
  SyntheticWorld world(times, {.white = 0.005, .drift = 0.001, .dirty = 0, .hidden = 0}, seed);
  Contest contest(default_options(seed));
  return play(contest, world, with_defaults(times, num_defaults));
}

TEST(ContestBestDefault, AWinnerMustBeatTheFastestDefaultConfig) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    // Candidate 2 beats the baseline by far, and another library's own config by less than min_gain.
    const auto close = decide_with_default({{0, 110}, {1, 100.2}, {2, 100}, {3, 120}}, 2, seed);
    EXPECT_EQ(close.winner, 1u);
    EXPECT_EQ(close.verdict, Verdict::faster) << "the default config is faster than the baseline";
    EXPECT_NEAR(close.comparison.ratio, 110 / 100.2, 0.01);
    const auto clear = decide_with_default({{0, 110}, {1, 104}, {2, 100}, {3, 120}}, 2, seed);
    EXPECT_EQ(clear.winner, 2u);
    EXPECT_EQ(clear.verdict, Verdict::faster);
    EXPECT_NEAR(clear.comparison.ratio, 1.1, 0.01) << "over the baseline";
  }
}

TEST(ContestBestDefault, ATieOfAllDefaultConfigsKeepsTheBaseline) {
  const auto result = decide_with_default({{0, 100.3}, {1, 100.2}, {2, 100}}, 2, 1);
  EXPECT_EQ(result.winner, 0u);
  EXPECT_EQ(result.verdict, Verdict::tie);
}

TEST(ContestBestDefault, UntunedConfigsThatAreNotClearlySlowerAreFinalists) {
  std::map<Slot, double> times = {{0, 101}, {1, 101.2}, {2, 101.4}, {3, 300}};
  for (Slot slot = 4; slot < 16; ++slot) times[slot] = 100 + 0.01 * slot;
  SyntheticWorld world(times, {}, 1);
  Contest contest(default_options(1));
  std::set<Slot> finalists;
  play(contest, world, with_defaults(times, 4), [&](const std::vector<Turn>& turns, Phase phase) {
    if (phase != Phase::finals) return;
    for (const Turn& turn : turns) finalists.insert(turn.slot);
  });
  for (const Slot slot : {0u, 1u, 2u}) EXPECT_TRUE(finalists.contains(slot)) << slot;
  EXPECT_FALSE(finalists.contains(3u)) << "dropped in the race";
}

TEST(ContestBestDefault, TheBaselineStaysInTheRotationOfALongConfirm) {
  std::map<Slot, double> times = {{0, 104}, {1, 100}, {2, 99.7}};
  for (Slot slot = 3; slot < 8; ++slot) times[slot] = 101;
  SyntheticWorld world(times, {.white = 0.005, .drift = 0.001, .dirty = 0, .hidden = 0}, 3);
  Contest contest(default_options(3));
  std::set<Slot> last;
  const auto result = play(contest, world, with_defaults(times, 2), [&](const std::vector<Turn>& turns, Phase phase) {
    if (phase != Phase::confirm) return;
    last.clear();
    for (const Turn& turn : turns) last.insert(turn.slot);
  });
  EXPECT_EQ(last.size(), 4u);
  EXPECT_TRUE(last.contains(0) && last.contains(1));
  EXPECT_EQ(result.winner, 1u);
}

}  // namespace
}  // namespace attune
