// SPDX-License-Identifier: MIT
#include "search/sample_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace attune {
namespace {

Sample clean(float us, float clock = 0) { return {.us = us, .clock = clock}; }
Sample dirty(float us) { return {.us = us, .dirty = true}; }

TEST(SampleTable, EstimatesFromCleanSamplesOnceThereAreThree) {
  SampleTable table;
  table.add(1, 1, clean(10));
  table.add(1, 2, clean(20));
  table.add(1, 3, dirty(90));
  EXPECT_EQ(table.median_us(1), 20);  // median of all three
  table.add(1, 4, clean(12));
  EXPECT_EQ(table.median_us(1), 12);
  EXPECT_EQ(table.num_clean(1), 3u);
}

TEST(SampleTable, ASlotWithoutSamplesSortsBehindEverything) {
  EXPECT_EQ(SampleTable().median_us(1), std::numeric_limits<double>::infinity());
}

TEST(SampleTable, PairsSamplesOfTheSameRoundOnly) {
  SampleTable table;
  for (const uint32_t round : {1u, 2u, 4u, 5u}) table.add(1, round, clean(static_cast<float>(10 * round)));
  for (const uint32_t round : {2u, 3u, 4u, 5u}) table.add(2, round, clean(static_cast<float>(round)));
  const auto ratios = table.log_ratios(1, 2);
  ASSERT_EQ(ratios.size(), 3u);
  for (const double ratio : ratios) EXPECT_NEAR(ratio, std::log(10.0), 1e-6);
  EXPECT_EQ(table.num_clean_pairs(1, 2), 3u);
  EXPECT_EQ(table.log_ratios(1, 2, {.first = 4, .last = 4}).size(), 1u);
}

TEST(SampleTable, APairIsCleanWhenBothSamplesAre) {
  SampleTable table;
  for (uint32_t round = 1; round <= 4; ++round) table.add(1, round, round == 1 ? dirty(80) : clean(10));
  for (uint32_t round = 1; round <= 4; ++round) table.add(2, round, clean(10));
  EXPECT_THAT(table.log_ratios(1, 2), testing::Each(0.0));
  EXPECT_EQ(table.num_clean_pairs(1, 2), 3u);
  EXPECT_EQ(table.log_ratios(1, 2, {.last = 3}).size(),
            3u);  // two clean ones are too few
}

TEST(SampleTable, ATimeThatIsNoneIsOnlyCounted) {
  SampleTable table;
  table.add(1, 1, clean(0));
  table.add(1, 2, clean(-1));
  table.add(1, 3, clean(std::numeric_limits<float>::infinity()));
  EXPECT_TRUE(table.samples(1).empty());
  EXPECT_EQ(table.num_dropped(1), 3u);
}

TEST(SampleTable, DiscardedRoundsAreCountedAsDropped) {
  SampleTable table;
  for (uint32_t round = 1; round <= 6; ++round) table.add(1, round, clean(static_cast<float>(round)));
  table.discard({.first = 3, .last = 4});
  EXPECT_EQ(table.samples(1).size(), 4u);
  EXPECT_EQ(table.num_dropped(1), 2u);
  EXPECT_EQ(table.samples(1, {.first = 3, .last = 5}).front().round, 5u);
}

TEST(SampleTable, KnowsTheShareOfCleanSamplesAndTheClockOfSomeRounds) {
  SampleTable table;
  table.add(1, 1, clean(1, 1.0f));
  table.add(1, 2, dirty(1));
  table.add(2, 2, clean(1, 0.5f));
  EXPECT_EQ(table.clean_share({.first = 2}), 0.5);
  EXPECT_EQ(table.clean_share({.first = 3}), 1.0);
  EXPECT_EQ(table.median_clock({.first = 2}), 0.5);
  EXPECT_EQ(table.median_clock({.first = 3}), 0);
}

}  // namespace
}  // namespace attune
