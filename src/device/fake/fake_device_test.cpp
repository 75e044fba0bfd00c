// SPDX-License-Identifier: MIT
#include "device/fake/fake_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "device/devices.h"

namespace attune {
namespace {

TEST(FakeDevice, TimeGoesByOnlyWhenAKernelSaysSo) {
  FakeDevice device;
  const auto stream = device.open_stream();
  stream->record(0);
  device.advance_us(12.5);
  stream->record(1);
  EXPECT_DOUBLE_EQ(stream->elapsed_us(0, 1), 12.5);
}

TEST(FakeDevice, RepeatsItsNoiseForASeed) {
  const FakeNoise noise{.seed = 7, .white = 0.1, .burst_share = 0.2, .dirty_share = 0.3};
  const auto times = [&] {
    FakeDevice device(noise);
    std::vector<double> seen;
    for (int i = 0; i < 20; ++i) {
      const double before = device.now_us();
      device.threads()->begin_watch();
      device.advance_us(10);
      device.threads()->end_watch();
      seen.push_back(device.now_us() - before);
    }
    return seen;
  };
  const auto once = times();
  EXPECT_EQ(once, times());
  EXPECT_GT(*std::ranges::max_element(once), 1.5 * *std::ranges::min_element(once));
}

TEST(FakeDevice, ReportsTheShareOfDirtyPartsThatWasAskedFor) {
  FakeDevice device({.dirty_share = 0.25});
  int dirty = 0;
  for (int i = 0; i < 1000; ++i) {
    device.threads()->begin_watch();
    dirty += device.threads()->end_watch().delay_ratio >= 0.02 ? 1 : 0;
  }
  EXPECT_NEAR(dirty, 250, 60);
}

TEST(FakeDevice, DisturbsWatchedPartsOnly) {
  FakeDevice device({.dirty_share = 1, .dirty_factor = 3});
  device.threads()->begin_watch();
  device.advance_us(10);
  device.threads()->end_watch();
  device.advance_us(10);
  EXPECT_DOUBLE_EQ(device.now_us(), 40);
}

TEST(FakeDevice, AGraphRunsWhatWasCapturedAndTakesLessThanItsLaunches) {
  FakeDevice device;
  const auto stream = device.open_stream();
  int runs = 0;
  const auto enqueue_two = [&] {
    stream->record(0);
    for (int i = 0; i < 2; ++i) device.enqueue(stream->native(), 10, [&] { ++runs; });
    stream->record(1);
  };
  enqueue_two();
  EXPECT_DOUBLE_EQ(stream->elapsed_us(0, 1), 2 * (10 + FakeDevice::kLaunchUs));
  stream->begin_capture();
  enqueue_two();
  const auto graph = stream->end_capture(nullptr);
  EXPECT_EQ(runs, 2) << "captured work does not run";
  ASSERT_NE(graph, nullptr);
  for (int i = 0; i < 3; ++i) graph->launch();
  EXPECT_EQ(runs, 8);
  EXPECT_DOUBLE_EQ(stream->elapsed_us(0, 1), 20);
}

TEST(FakeDevice, CapturesNoWorkThatTakesItsTimeAtOnceAndNoWait) {
  FakeDevice device;
  const auto stream = device.open_stream();
  stream->begin_capture();
  device.advance_us(1);
  EXPECT_EQ(stream->end_capture(nullptr), nullptr);
  stream->begin_capture();
  stream->synchronize();
  EXPECT_EQ(stream->end_capture(nullptr), nullptr);
  stream->begin_capture();
  EXPECT_NE(stream->end_capture(nullptr), nullptr) << "the stream is as it was";
}

TEST(FakeDevice, RunsOutOfMemory) {
  FakeDevice device;
  const Buffer large = device.memory().allocate(static_cast<uint64_t>(device.info().memory_bytes) - 100, 64);
  EXPECT_THROW(device.memory().allocate(101, 64), Error);
  device.memory().release(large);
  EXPECT_EQ(device.memory().allocated_bytes(), 0u);
}

TEST(Devices, AreOpenedByTheIdsThatAreListed) {
  std::vector<std::string> ids;
  for (const DeviceInfo& info : list_devices()) ids.push_back(info.id);
  EXPECT_THAT(ids, ::testing::ElementsAre("cpu:0", "fake:0"));
  EXPECT_EQ(open_device("fake:0")->info().kind, "fake");
  try {
    open_device("cuda:9");
    FAIL() << "no such device";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("cpu:0, fake:0"));
  }
}

}  // namespace
}  // namespace attune
