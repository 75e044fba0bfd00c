// SPDX-License-Identifier: MIT
#include "device/host/clock_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace attune {
namespace {

/// A core whose chains take the time that a test sets, with a counter of its total time.
class ScriptedClock : public testing::Test {
 protected:
  ClockKernel make() {
    return ClockKernel([this] {
      const double us = chain_us(ran_us_);
      ran_us_ += us;
      return us;
    });
  }
  std::function<double(double)> chain_us = [](double) { return 10.0; };
  double ran_us_ = 0;
};

TEST_F(ScriptedClock, IsReadWhenItIsFirstNeeded) {
  auto clock = make();
  EXPECT_EQ(ran_us_, 0);
  EXPECT_EQ(clock.highest_ghz(), 0);
  EXPECT_EQ(clock.relative(), 1);
  EXPECT_DOUBLE_EQ(clock.highest_ghz(), 3.6);
}

TEST_F(ScriptedClock, IsUsualNotBefore20MillisecondsHavePassed) {
  chain_us = [](double at_us) { return at_us < 18'000 ? 20.0 : 10.0; };
  auto clock = make();
  clock.calibrate();
  EXPECT_GE(ran_us_, 20'000);
  EXPECT_EQ(clock.relative(), 1);
}

TEST_F(ScriptedClock, IsUsualWhenItHasStoppedRising) {
  chain_us = [](double at_us) { return std::max(10.0, 30 - at_us / 3000); };  // 1 % to 3 % a millisecond up to 60 ms
  auto clock = make();
  clock.calibrate();
  EXPECT_GT(ran_us_, 60'000);
  EXPECT_LT(ran_us_, 66'000);
  EXPECT_EQ(clock.relative(), 1);
}

TEST_F(ScriptedClock, ThatNeverRestsIsGivenUpAfter200Milliseconds) {
  chain_us = [](double at_us) { return 100 * std::exp(-at_us / 50'000); };  // 2 % a millisecond
  auto clock = make();
  clock.calibrate();
  EXPECT_GT(ran_us_, 199'000);
  EXPECT_LT(ran_us_, 206'000);
}

TEST_F(ScriptedClock, IsNotFasterForOneReadingButForEightInARow) {
  auto clock = make();
  clock.calibrate();
  chain_us = [](double) { return 8.0; };
  for (int i = 0; i < 7; ++i) EXPECT_DOUBLE_EQ(clock.relative(), 1.25) << i;
  EXPECT_DOUBLE_EQ(clock.highest_ghz(), 4.5);
  chain_us = [](double) { return 10.0; };
  EXPECT_DOUBLE_EQ(clock.relative(), 1);
  chain_us = [](double) { return 8.0; };
  for (int i = 0; i < 7; ++i) EXPECT_DOUBLE_EQ(clock.relative(), 1.25) << i;
  EXPECT_DOUBLE_EQ(clock.relative(), 1);
  chain_us = [](double) { return 10.0; };
  EXPECT_DOUBLE_EQ(clock.relative(), 0.8);
}

TEST_F(ScriptedClock, NeverGetsSlowerAsTheUsualOne) {
  auto clock = make();
  clock.calibrate();
  chain_us = [](double) { return 20.0; };
  for (int i = 0; i < 100; ++i) EXPECT_DOUBLE_EQ(clock.relative(), 0.5);
}

}  // namespace
}  // namespace attune
