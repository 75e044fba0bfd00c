// SPDX-License-Identifier: MIT
#include "worker/step_limit.h"

#include <gtest/gtest.h>

#include <memory>

#include "device/device_kind.h"
#include "ops/op.h"

namespace attune {
namespace {

Milliseconds limit_of(const std::string& sizes, const std::string& kind = "host", int64_t num_units = 4) {
  const auto problem = Problem::parse("gemm_a16w16 " + sizes + " dtype=fp32");
  return step_limit(op_of(problem).normalise(problem, {}), {},
                    {.kind = kind, .num_units = num_units, .cache_bytes = 1 << 20});
}

TEST(StepLimit, OfASmallShapeIsSecondsAndOfALargeOneFollowsItsArithmetic) {
  using std::chrono_literals::operator""s;
  EXPECT_GE(limit_of("m=4 n=256 k=256"), 10s);
  EXPECT_LE(limit_of("m=4 n=256 k=256"), 20s) << "a run of 25 s must outlive a stopped worker";
  // Two references of 1.1e12 operations each, at 2e9 per second on each of four cores, take 275 s.
  EXPECT_GT(limit_of("m=8192 n=8192 k=8192"), 275s);
  EXPECT_LT(limit_of("m=1073741824 n=1073741824 k=1073741824"), std::chrono::hours(24 * 400));
}

TEST(StepLimit, OfAReferenceThatTheHostComputesDoesNotFollowTheDevicesUnits) {
  const std::string sizes = "m=8192 n=8192 k=8192";
  EXPECT_EQ(limit_of(sizes, "fake", 132), limit_of(sizes, "fake", 4));
  EXPECT_LT(limit_of(sizes, "host", 132), limit_of(sizes, "host", 4)) << "a host's units are its cores";
}

/// A kind whose references are computed a thousand times as fast, and whose memory is a tenth as fast, as by default.
const bool kIsOddRegistered = [] {
  register_device_kind({.name = "odd rates",
                        .list = [] { return std::vector<DeviceInfo>(); },
                        .open = [](std::string_view, int64_t) { return std::unique_ptr<Device>(); },
                        .reference = {.flops_per_s = 2e12, .bytes_per_s = 1.6e8}});
  return true;
}();

TEST(StepLimit, FollowsTheRatesThatTheKindOfDeviceStates) {
  ASSERT_TRUE(kIsOddRegistered);
  const auto beyond_the_least = [](const char* sizes, const char* kind) {
    return limit_of(sizes, kind) - std::chrono::seconds(10);
  };
  const char *arithmetic = "m=65536 n=65536 k=65536", *memory = "m=1 n=8192 k=1024";
  EXPECT_LT(5 * beyond_the_least(arithmetic, "odd rates"), beyond_the_least(arithmetic, "fake"));
  EXPECT_GT(beyond_the_least(memory, "odd rates"), 5 * beyond_the_least(memory, "fake"));
}

}  // namespace
}  // namespace attune
