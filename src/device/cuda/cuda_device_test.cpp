// SPDX-License-Identifier: MIT
#include "device/cuda/cuda_device.h"

#include <gtest/gtest.h>

#include "device/cuda/cuda_info.h"
#include "device/devices.h"

namespace attune {
namespace {

TEST(CudaInfo, StatesThePeaksOfAnArchitecture) {
  // An H100 SXM by its data sheet, in TFLOP/s: 989 dense in bf16, 1979 in fp8, 67 in fp32.
  const auto peaks = cuda_peak_gflops({9, 0, 132, 1.83});
  EXPECT_NEAR(peaks.at("bf16"), 989e3, 5e3);
  EXPECT_NEAR(peaks.at("e4m3fn"), 1979e3, 10e3);
  EXPECT_NEAR(cuda_peak_gflops({9, 0, 132, 1.98}).at("fp32"), 67e3, 1e3);
  EXPECT_TRUE(cuda_peak_gflops({99, 0, 132, 1.83}).empty());
}

TEST(CudaInfo, TakesTheNumberFromAnId) {
  EXPECT_EQ(cuda_ordinal("cuda:0"), 0);
  EXPECT_EQ(cuda_ordinal("cuda:12"), 12);
}

class CudaGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (list_devices("cuda:0").empty()) GTEST_SKIP() << "no NVIDIA GPU is here";
    device_ = open_device("cuda:0");
  }
  std::unique_ptr<Device> device_;
};

TEST_F(CudaGpu, TellsItsClockAndItsBandwidth) {
  EXPECT_GT(device_->relative_clock(), 0.1);
  EXPECT_LT(device_->relative_clock(), 1.1);
  EXPECT_GT(device_->bandwidth_gbs(256u << 20, Reading::remembered), 100);
  EXPECT_TRUE(device_->healthy());
}

TEST_F(CudaGpu, TimesWorkBetweenMarks) {
  const auto stream = device_->open_stream();
  stream->record(0);
  stream->record(1);
  stream->synchronize();
  EXPECT_GE(stream->elapsed_us(0, 1), 0);
  EXPECT_LT(stream->elapsed_us(0, 1), 1e6);
}

TEST_F(CudaGpu, RefusesMoreMemoryThanItHas) {
  EXPECT_THROW(device_->memory().allocate(uint64_t{1} << 46, 256), Error);
  EXPECT_TRUE(device_->healthy());
}

}  // namespace
}  // namespace attune
