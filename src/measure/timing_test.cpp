// SPDX-License-Identifier: MIT
#include "measure/timing.h"

#include <gtest/gtest.h>

#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/fake/fake_device.h"

namespace attune {
namespace {

TEST(Timing, ASampleIsDirtyFromTwoPercentOfWaitingOrBelowThreeQuartersOfTheClock) {
  EXPECT_FALSE(is_dirty({.delay_ratio = 0.019}, 0.75));
  EXPECT_TRUE(is_dirty({.delay_ratio = 0.02}, 1));
  EXPECT_TRUE(is_dirty({}, 0.74));
}

TEST(Timing, ABatchIsAsLongAsTheShortestSampleAndBounded) {
  EXPECT_EQ(batch_for(50, 200), 4u);
  EXPECT_EQ(batch_for(60, 200), 4u);
  EXPECT_EQ(batch_for(300, 200), 1u);
  EXPECT_EQ(batch_for(1e-9, 200), 4096u);
}

/// Takes 10 µs a launch, or is refused.
class TenMicroseconds final : public Plan {
 public:
  enum class How : uint8_t { enqueued, at_once, refused };
  TenMicroseconds(FakeDevice& device, How how) : device_(device), how_(how) {}
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    if (how_ == How::refused) fail(ErrorCode::device, "planted: it is refused");
    if (how_ == How::at_once) return device_.advance_us(10);
    device_.enqueue(launch.stream, 10, [] {});
  }

 private:
  FakeDevice& device_;
  How how_;
  PlanTraits traits_;
};

double time_graph(Stream& stream, Graph& graph) {
  graph.launch();
  stream.synchronize();
  return stream.elapsed_us(kTimedFrom, kTimedTo);
}

TEST(Timing, AGraphLeavesOutTheGapsBetweenItsLaunches) {
  FakeDevice device;
  const auto stream = device.open_stream();
  const TenMicroseconds plan(device, TenMicroseconds::How::enqueued);
  const std::vector<Launch> launches(8, {.operands = {}, .stream = stream->native()});
  EXPECT_DOUBLE_EQ(time_launches(*stream, plan, launches), 10 + FakeDevice::kLaunchUs);
  auto graph = capture_launches(*stream, plan, launches, nullptr);
  ASSERT_NE(graph, nullptr);
  EXPECT_DOUBLE_EQ(time_graph(*stream, *graph), 80);
  graph = capture_launches(*stream, plan, std::span(launches).first(2), std::move(graph));
  ASSERT_NE(graph, nullptr);
  EXPECT_DOUBLE_EQ(time_graph(*stream, *graph), 20) << "the second capture takes the first one's place";
}

TEST(Timing, WhatCannotBeCapturedIsTimedByEventsAsBefore) {
  FakeDevice device;
  const auto stream = device.open_stream();
  const std::vector<Launch> launches(3, {.operands = {}, .stream = stream->native()});
  for (const auto how : {TenMicroseconds::How::at_once, TenMicroseconds::How::refused})
    EXPECT_EQ(capture_launches(*stream, TenMicroseconds(device, how), launches, nullptr), nullptr);
  EXPECT_DOUBLE_EQ(time_launches(*stream, TenMicroseconds(device, TenMicroseconds::How::enqueued), launches),
                   10 + FakeDevice::kLaunchUs);
}

}  // namespace
}  // namespace attune
