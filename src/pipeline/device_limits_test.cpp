// SPDX-License-Identifier: MIT
#include "pipeline/device_limits.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(DeviceLimits, OfTheDataSheetsAreTheVendorsNumbers) {
  const auto all = data_sheet_limits();
  const DeviceLimits* mi300x = find_limits(all, "gfx942", 304);
  ASSERT_NE(mi300x, nullptr);
  EXPECT_NEAR(*mi300x->device.peak_of(DType::bf16), 1307.4e3, 100);
  EXPECT_NEAR(*mi300x->device.peak_of(DType::e4m3fnuz), 2614.9e3, 100);
  const DeviceLimits* mi355x = find_limits(all, "gfx950", 256);
  ASSERT_NE(mi355x, nullptr);
  EXPECT_NEAR(*mi355x->device.peak_of(DType::bf16), 2516.6e3, 100);
  EXPECT_NEAR(*mi355x->device.peak_of(DType::e2m1), 10066.3e3, 100);
  EXPECT_EQ(find_limits(all, "gfx942", 228), nullptr);
}

TEST(DeviceLimits, TheLargerOfOperationsAndBytesBoundsATime) {
  DeviceLimits limits;
  limits.device.peak_gflops = {{"bf16", 1000}};
  limits.device.bandwidth_gbs = 100;
  const CountedWork work{.flops = 2e6, .bytes = 9e9, .least_bytes = 1e5, .arithmetic = DType::bf16};
  EXPECT_DOUBLE_EQ(roofline_bound(work, limits).us, 2);  // 2e6 / 1e12 s against 1e5 / 1e11 s.
  EXPECT_FALSE(roofline_bound(work, limits).is_memory);
  limits.device.bandwidth_gbs = 10;
  EXPECT_DOUBLE_EQ(roofline_bound(work, limits).us, 10);
  EXPECT_TRUE(roofline_bound(work, limits).is_memory);
  // What the cache holds need not come from memory, and a measured rate is taken with a reserve.
  limits.device.cache_bytes = 60'000;
  EXPECT_DOUBLE_EQ(roofline_bound(work, limits).us, 4);
  EXPECT_DOUBLE_EQ(roofline_bound(work, limits_of(limits.device)).us, 2.4);
}

TEST(DeviceLimits, WithoutAStatedRateNothingBoundsATime) {
  const CountedWork work{.flops = 2e6, .bytes = 9e9, .least_bytes = 1e5, .arithmetic = DType::int4};
  EXPECT_EQ(roofline_bound(work, DeviceLimits()).us, 0);
}

}  // namespace
}  // namespace attune
