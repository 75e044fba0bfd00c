// SPDX-License-Identifier: MIT
#include "report/kernel_speed.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace attune {
namespace {

Measurement measured(double us, float clock) {
  Measurement made;
  made.median_us = us;
  made.samples = {{.us = static_cast<float>(us), .clock = clock}, {.us = static_cast<float>(us), .clock = clock}};
  return made;
}

DeviceInfo gpu() {
  DeviceInfo device;
  device.peak_gflops = {{"bf16", 1e6}};
  device.bandwidth_gbs = 1000;
  return device;
}

TEST(KernelSpeed, IsAShareOfTheNearerBound) {
  const Work work{.flops = 1e9, .bytes = 5e6, .arithmetic = DType::bf16};
  const KernelSpeed speed = kernel_speed(measured(10, 0.5F), work, gpu(), 2);
  EXPECT_DOUBLE_EQ(speed.tflops, 100);
  EXPECT_DOUBLE_EQ(speed.gbs, 500);
  EXPECT_DOUBLE_EQ(speed.of_roofline, 0.5) << "5 us for the bytes, 1 us for the operations";
  EXPECT_DOUBLE_EQ(speed.cycles, 10'000) << "10 us at 1 GHz";
  EXPECT_EQ(text(speed, 0), "100.00 TFLOP/s, 500 GB/s, 50 % of the roofline, clock 0.500, 10000 cycles");
  EXPECT_EQ(text(speed, 9'900), text(speed, 0) + ", +100 against the first");
}

TEST(KernelSpeed, LeavesOutWhatIsNotKnown) {
  const KernelSpeed speed = kernel_speed(measured(10, 1), {.flops = 1e6, .bytes = 1e6}, {}, 0);
  EXPECT_EQ(text(speed, 5), "0.10 TFLOP/s, 100 GB/s, clock 1.000");
  nlohmann::ordered_json object;
  add_speed(object, speed, 5);
  EXPECT_EQ(object.dump(), R"({"tflops":0.1,"gbs":100.0,"clock":1.0})");
}

TEST(KernelSpeed, IsNoShareOfARooflineOfWhichOneBoundIsUnknown) {
  const Work work{.flops = 1e9, .bytes = 5e6, .arithmetic = DType::bf16};
  DeviceInfo without_bandwidth = gpu(), without_peak = gpu();
  without_bandwidth.bandwidth_gbs = 0;
  without_peak.peak_gflops.clear();
  EXPECT_EQ(kernel_speed(measured(10, 1), work, without_bandwidth, 0).of_roofline, 0) << "not 10 % of a memory bound";
  EXPECT_EQ(kernel_speed(measured(10, 1), work, without_peak, 0).of_roofline, 0);
}

TEST(KernelSpeed, GoesByTheBandwidthThatWasMeasuredForTheWorkingSet) {
  const Work work{.flops = 1e9, .bytes = 5e6, .arithmetic = DType::bf16};
  DeviceInfo host = gpu();
  host.bandwidth_gbs = 0;
  Measurement in_cache = measured(10, 1);
  in_cache.bandwidth_gbs = 2500;
  EXPECT_DOUBLE_EQ(kernel_speed(in_cache, work, host, 0).of_roofline, 0.2) << "2 us of 10";
  EXPECT_DOUBLE_EQ(kernel_speed(in_cache, work, gpu(), 0).of_roofline, 0.2) << "not that of the memory";
}

TEST(KernelSpeed, StatesTheGapInCycles) {
  nlohmann::ordered_json object;
  add_speed(object, kernel_speed(measured(10, 1), {.flops = 1e6, .bytes = 1e6}, gpu(), 2), 19'000);
  EXPECT_EQ(object["gap_cycles"], 1'000);
}

}  // namespace
}  // namespace attune
