// SPDX-License-Identifier: MIT
#include "core/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace attune {
namespace {

TEST(Statistics, MedianIsTheMiddleOrTheMeanOfTheTwoMiddleOnes) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({7}), 7);
  EXPECT_TRUE(std::isnan(median({})));
}

TEST(Statistics, ScaledMadIgnoresAnOutlier) {
  const double values[] = {1, 2, 3, 4, 1000};
  EXPECT_DOUBLE_EQ(scaled_mad(values), 1.4826);
  EXPECT_TRUE(std::isnan(scaled_mad({})));
}

TEST(Statistics, NormalCdfHasItsTextbookValues) {
  EXPECT_DOUBLE_EQ(normal_cdf(0), 0.5);
  EXPECT_NEAR(normal_cdf(1.959964), 0.975, 1e-6);
  EXPECT_NEAR(normal_cdf(-2.575829), 0.005, 1e-6);
}

// Wilcoxon (1945) by hand: ranks 1..8, the two negative ones have ranks 1 and 3, so W+ = 36 - 4 = 32.
TEST(Statistics, SignedRankAgreesWithTheHandComputation) {
  const double values[] = {-1, 2, -3, 4, 5, 6, 7, 8};
  const auto result = signed_rank(values);
  EXPECT_EQ(result.n, 8u);
  EXPECT_NEAR(result.z, (32 - 18) / std::sqrt(51.0), 1e-12);
  EXPECT_NEAR(result.p_positive, 1 - normal_cdf(13.5 / std::sqrt(51.0)), 1e-12);
}

// |x| = 1 1 2 2 2 3: mean ranks 1.5 1.5 4 4 4 6; W+ = 1.5 + 4 + 4 + 6; variance 22.75 - (6 + 24) / 48.
TEST(Statistics, SignedRankGivesTiesTheirMeanRank) {
  const double values[] = {1, -1, 2, -2, 2, 3};
  EXPECT_NEAR(signed_rank(values).z, (15.5 - 10.5) / std::sqrt(22.75 - 30.0 / 48), 1e-12);
}

TEST(Statistics, SignedRankLeavesOutZerosAndRefusesTooFewValues) {
  const double values[] = {0, 0, 1, 2, 3, 4, 5};
  EXPECT_EQ(signed_rank(values).n, 5u);
  EXPECT_EQ(signed_rank(values).p_positive, 1);
  const double zeros[] = {0, 0};
  EXPECT_EQ(signed_rank(zeros).z, 0);
}

// Table of Dixon and Massey: n = 8: x(1), x(8); n = 21: x(6), x(16); n = 64: x(24), x(41).
TEST(Statistics, MedianIntervalTakesTheTabulatedOrderStatistics) {
  for (const auto& [n, low, high] : {std::tuple{5, 1, 5}, {8, 1, 8}, {9, 2, 8}, {21, 6, 16}, {64, 24, 41}}) {
    std::vector<double> values;
    for (int i = n; i >= 1; --i) values.push_back(i);
    EXPECT_EQ(median_interval(values), (Interval{double(low), double(high)})) << n;
  }
}

TEST(Statistics, MedianIntervalOfManyValuesDoesNotUnderflow) {
  std::vector<double> values;
  for (int i = 1; i <= 10000; ++i) values.push_back(i);
  const auto [low, high] = median_interval(values);
  EXPECT_NEAR(low, 5000 - 98, 3);
  EXPECT_NEAR(high, 5000 + 98, 3);
}

TEST(Statistics, MedianIntervalCoversTheMedianAsOftenAsItSays) {
  Random random(7);
  int covered = 0;
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<double> values(30);
    for (auto& value : values) value = random.normal();
    const auto [low, high] = median_interval(values);
    covered += low <= 0 && 0 <= high;
  }
  EXPECT_GE(covered, 465);
  EXPECT_LT(covered, 500);
}

TEST(Statistics, GeometricMeanIsTheRootOfTheProduct) {
  const double values[] = {1, 8};
  EXPECT_NEAR(geometric_mean(values), std::sqrt(8.0), 1e-12);
  EXPECT_TRUE(std::isnan(geometric_mean({})));
}

TEST(Statistics, HodgesLehmannIsTheMedianOfTheMeansOfPairs) {
  const double values[] = {1, 2, 6};  // means 1, 1.5, 2, 3.5, 4, 6
  EXPECT_DOUBLE_EQ(hodges_lehmann(values), 2.75);
  const double wild[] = {1, 2, 3, 4, 5, 1000};
  EXPECT_LT(hodges_lehmann(wild), 5);
  EXPECT_TRUE(std::isnan(hodges_lehmann({})));
}

// Values of printed tables (one-sided).
TEST(Statistics, StudentsTHasItsTextbookValues) {
  EXPECT_NEAR(student_t_upper(0.025, 2), 4.302653, 1e-5);
  EXPECT_NEAR(student_t_upper(0.025, 1), 12.706205, 1e-4);
  EXPECT_NEAR(student_t_upper(0.005, 7), 3.499483, 1e-5);
  EXPECT_NEAR(student_t_upper(0.05, 30), 1.697261, 1e-5);
  EXPECT_NEAR(student_t_upper(0.025, 1e5), 1.959988, 1e-5);
  EXPECT_NEAR(student_t_upper(0.025, 1e9), 1.959964, 1e-5);
  EXPECT_GT(student_t_upper(0.025, 2.5), student_t_upper(0.025, 3)) << "degrees need not be whole";
}

}  // namespace
}  // namespace attune
