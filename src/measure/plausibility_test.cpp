// SPDX-License-Identifier: MIT
#include "measure/plausibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "device/fake/fake_device.h"
#include "measure/timing.h"

namespace attune {
namespace {

TEST(Plausibility, TheFloorIsTheLargerOfArithmeticAndMemory) {
  FakeDevice device;  // 1000 GFLOP/s in fp32, 100 GB/s
  EXPECT_DOUBLE_EQ(roofline_floor_us({1e9, 1e3, DType::fp32}, 1 << 20, device), 0.6 * 1000);
  EXPECT_DOUBLE_EQ(roofline_floor_us({1e3, 1e6, DType::fp32}, 1 << 20, device), 0.6 * 10);
}

TEST(Plausibility, TheFloorGoesByTheTypeThatIsMultiplied) {
  FakeDevice device;
  const auto floor_us = [&](DType arithmetic) { return roofline_floor_us({1e9, 1e3, arithmetic}, 1 << 20, device); };
  EXPECT_DOUBLE_EQ(floor_us(DType::fp32), 0.6 * 1000);
  EXPECT_DOUBLE_EQ(floor_us(DType::bf16), 0.6 * 500);
  EXPECT_DOUBLE_EQ(floor_us(DType::fp16), 0.6 * 500);
  EXPECT_DOUBLE_EQ(floor_us(DType::int8), 0.6 * 250);
  EXPECT_DOUBLE_EQ(floor_us(DType::e4m3fn), 0.6 * 250);
  EXPECT_DOUBLE_EQ(floor_us(DType::e2m1), 0.6 * 125);
}

TEST(Plausibility, ATypeWithoutAPeakIsBoundByMemoryAlone) {
  FakeDevice device;
  ASSERT_EQ(device.info().peak_of(DType::int4), std::nullopt);
  EXPECT_DOUBLE_EQ(roofline_floor_us({1e15, 1e6, DType::int4}, 1 << 20, device), 6);
}

TEST(Plausibility, RefusesWhatIsNoTime) {
  EXPECT_EQ(implausible(10, 5), "");
  EXPECT_EQ(implausible(5, 5), "");
  for (const double us : {0.0, -1.0, -0.0}) EXPECT_THAT(implausible(us, 0), ::testing::HasSubstr("not positive")) << us;
  EXPECT_THAT(implausible(std::numeric_limits<double>::quiet_NaN(), 0), ::testing::HasSubstr("not a number"));
  EXPECT_THAT(implausible(std::numeric_limits<double>::infinity(), 0), ::testing::HasSubstr("not a number"));
  EXPECT_THAT(implausible(4.9, 5), ::testing::HasSubstr("cannot do the work"));
}

TEST(Timing, BatchesShortKernelsOnly) {
  EXPECT_EQ(batch_for(1, 200), 200u);
  EXPECT_EQ(batch_for(150, 200), 2u);
  EXPECT_EQ(batch_for(5000, 200), 1u);
  EXPECT_EQ(batch_for(1e-6, 200), 4096u);
  EXPECT_EQ(batch_for(1, 0), 1u);
}

TEST(Timing, LaunchesUntimedInProportionWithinBounds) {
  EXPECT_EQ(untimed_for(1, Timing::clock), 1u);
  EXPECT_EQ(untimed_for(1, Timing::events), 1u);
  EXPECT_EQ(untimed_for(1, Timing::graph), 0u);
  EXPECT_EQ(untimed_for(2, Timing::graph), 1u);
  EXPECT_EQ(untimed_for(40, Timing::graph), 5u);
  EXPECT_EQ(untimed_for(4096, Timing::clock), 16u);
}

}  // namespace
}  // namespace attune
