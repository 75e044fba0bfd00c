// SPDX-License-Identifier: MIT
#include "dispatch/table/prediction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>

namespace attune {
namespace {

TEST(NextRowsTest, TheKernelOfALargerMTakesAtMostItsTime) {
  const auto next = NextRows::of(24, {16, 10}, {32, 10.5});
  EXPECT_NEAR(next.above_regret, 0.05, 1e-12);
  EXPECT_TRUE(next.above_first);
}

TEST(NextRowsTest, TheKernelOfASmallerMMayNeedAnotherBlock) {
  const auto next = NextRows::of(3000, {2048, 100}, {4096, 196});
  EXPECT_NEAR(next.below_regret, 200 / (196 * 3000.0 / 4096) - 1, 1e-12);
  EXPECT_NEAR(next.above_regret, 4096.0 / 3000 - 1, 1e-12);
}

TEST(NextRowsTest, OneRowBoundsByTheRatioOfM) {
  EXPECT_NEAR(NextRows::of(7, {}, {8, 5}).above_regret, 8.0 / 7 - 1, 1e-12);
  EXPECT_EQ(NextRows::of(9, {8, 5}, {}).below_regret, 1);
  EXPECT_EQ(NextRows::of(17, {8, 5}, {}).below_regret, 2);
  EXPECT_FALSE(NextRows::of(9, {8, 5}, {}).above_first);
  EXPECT_EQ(NextRows::of(9, {8, 5}, {}).above_regret, NextRows::kNone);
  EXPECT_EQ(NextRows::of(9, {}, {}).below_regret, NextRows::kNone);
}

TEST(NextRowsTest, TheNearerRowComesFirstAndALargerMCountsAsNearer) {
  EXPECT_FALSE(NextRows::of(64, {50, 9}, {96, 13}).above_first);
  EXPECT_TRUE(NextRows::of(96, {64, 9}, {128, 17}).above_first);
  EXPECT_TRUE(NextRows::of(100, {50, 9}, {200, 17}).above_first);
}

TEST(NextRowsTest, TimesThatBreakTheRulesHaveNoNegativeBound) {
  EXPECT_EQ(NextRows::of(12, {8, 10}, {16, 5}).above_regret, 0);
  EXPECT_EQ(NextRows::of(12, {8, 1}, {16, 50}).below_regret, 0);
}

/// The bounds hold for all kernels that satisfy the assumptions, including blocks of any size.
TEST(NextRowsTest, HoldForKernelsThatWorkInBlocks) {
  std::mt19937 random(7);
  const auto up_to = [&](uint32_t max) -> uint32_t { return static_cast<uint32_t>(1 + random() % max); };
  for (int i = 0; i < 2000; ++i) {
    struct Kernel {
      uint32_t block;
      double start, of_block;
      double us(int64_t m) const { return start + of_block * static_cast<double>((m + block - 1) / block); }
    };
    std::array<Kernel, 4> kernels;
    for (Kernel& kernel : kernels) kernel = {up_to(64), 1.0 * up_to(50), 1.0 * up_to(9)};
    // A kernel without blocks limits the rise of the best time per row of M.
    kernels[0] = {1, 1.0 * up_to(50), 0.1 * up_to(9)};
    const auto best = [&](int64_t m) {
      return *std::min_element(kernels.begin(), kernels.end(),
                               [m](const Kernel& a, const Kernel& b) { return a.us(m) < b.us(m); });
    };
    const int64_t below = up_to(100), m = below + up_to(100), above = m + up_to(100);
    const auto next = NextRows::of(m, {below, best(below).us(below)}, {above, best(above).us(above)});
    const double min =
        std::max(best(below).us(below), best(above).us(above) * static_cast<double>(m) / static_cast<double>(above));
    EXPECT_LE(best(below).us(m) / min - 1, next.below_regret + 1e-9);
    EXPECT_LE(best(above).us(m) / min - 1, next.above_regret + 1e-9);
  }
}

TEST(NextRowsTest, ABoundIsRoundedUpToAPercent) {
  EXPECT_EQ(percent_of(0), 0);
  EXPECT_EQ(percent_of(0.001F), 1);
  EXPECT_EQ(percent_of(0.1F), 10);
  EXPECT_EQ(percent_of(0.501F), 51);
  EXPECT_EQ(percent_of(1), 100);
  EXPECT_EQ(percent_of(2.545F), 255);
  EXPECT_EQ(percent_of(1e9F), 255);
  EXPECT_EQ(percent_of(std::numeric_limits<float>::quiet_NaN()), 0);
}

}  // namespace
}  // namespace attune
