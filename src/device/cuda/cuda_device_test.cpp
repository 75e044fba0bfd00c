// SPDX-License-Identifier: MIT
#include "device/cuda/cuda_device.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/cuda/cuda_info.h"
#include "device/cuda/nvml.h"
#include "device/devices.h"
#include "device/own_buffer.h"
#include "testing/becomes_true.h"

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

TEST(CudaInfo, ReadsTheCapabilityInAName) {
  EXPECT_EQ(compute_capability("sm_90"), 90);
  EXPECT_EQ(compute_capability("sm_120a"), 120);
  for (const char* other : {"gfx942", "x86-64-v4", "sm_", ""}) EXPECT_EQ(compute_capability(other), 0) << other;
}

TEST(Nvml, NamesWhatHoldsTheClockDown) {
  EXPECT_TRUE(clock_limits(0x1).empty()) << "idle";
  EXPECT_EQ(clock_limits(0x4 | 0x40), (std::vector<std::string>{"power limit", "temperature, by the hardware"}));
  EXPECT_EQ(clock_limits(0x8000), std::vector<std::string>{"another reason"});
}

TEST(Nvml, ADeviceThatIsNotHereIsUnknown) { EXPECT_NE(cuda_clock_state("cuda:99").unknown, ""); }

TEST(Nvml, AGpuIsUnusedWithoutProcessesAndWithoutMemoryInUse) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  EXPECT_EQ(gpu_use(0, 4 * kMiB), "") << "what the driver of an idle one has";
  EXPECT_EQ(gpu_use(1, 4 * kMiB), "a process uses it");
  EXPECT_EQ(gpu_use(3, 900 * kMiB), "3 processes use it");
  EXPECT_EQ(gpu_use(0, 200 * kMiB), "200 MiB of its memory are in use") << "of a process in another container";
}

TEST(CudaInfo, TakesTheNumberFromAnId) {
  EXPECT_EQ(cuda_ordinal("cuda:0"), 0);
  EXPECT_EQ(cuda_ordinal("cuda:12"), 12);
}

TEST(CudaInfo, TheBandwidthIsThatOfTheMemorysClockAndBus) {
  EXPECT_NEAR(cuda_peak_bandwidth_gbs(2'619'000, 5120), 3352, 1) << "the data sheet of an H100 SXM says 3.35 TB/s";
  EXPECT_EQ(cuda_peak_bandwidth_gbs(0, 5120), 0);
  EXPECT_EQ(cuda_peak_bandwidth_gbs(2'619'000, -1), 0);
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
  const double measured = device_->bandwidth_gbs(256u << 20, Reading::remembered);
  EXPECT_GT(measured, 100);
  EXPECT_LT(measured, device_->info().bandwidth_gbs * 1.05);
  EXPECT_GT(measured, device_->info().bandwidth_gbs * 0.4);
  EXPECT_TRUE(device_->healthy());
}

TEST_F(CudaGpu, SaysWhatHoldsItsClockDown) {
  const ClockState state = cuda_clock_state("cuda:0");
  EXPECT_EQ(state.unknown, "");
  EXPECT_GT(state.highest_ghz, 0.5);
}

TEST_F(CudaGpu, TimesWorkBetweenMarks) {
  constexpr uint64_t kBytes = uint64_t{256} << 20;
  const auto stream = device_->open_stream();
  const OwnBuffer area(device_->memory(), kBytes, 256);
  const auto& driver = static_cast<CudaDevice&>(*device_).driver();
  const CurrentContext current(driver, static_cast<CudaDevice&>(*device_).context());
  const auto enqueue = [&] {
    driver.check(driver.cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(area.data()), 1, kBytes,
                                        static_cast<CUstream>(stream->native())),
                 "write its memory");
  };
  enqueue();
  stream->record(0);
  enqueue();
  stream->record(1);
  stream->synchronize();
  const double least_us = static_cast<double>(kBytes) / device_->info().bandwidth_gbs * 1e-3;
  EXPECT_GT(stream->elapsed_us(0, 1), 0.5 * least_us) << "some of it stays in the cache";
  EXPECT_LT(stream->elapsed_us(0, 1), 100 * least_us);
}

TEST_F(CudaGpu, ReplaysWhatAStreamCaptured) {
  const auto stream = device_->open_stream();
  const OwnBuffer area(device_->memory(), 4096, 256);
  const auto& driver = static_cast<CudaDevice&>(*device_).driver();
  const CurrentContext current(driver, static_cast<CudaDevice&>(*device_).context());
  const auto capture = [&](unsigned value, std::unique_ptr<Graph> former) {
    stream->begin_capture();
    stream->record(0);
    EXPECT_NE(device_->caller_streams()->capture_of(stream->native()), 0u);
    driver.check(driver.cuMemsetD32Async(reinterpret_cast<CUdeviceptr>(area.data()), value, 1024,
                                         static_cast<CUstream>(stream->native())),
                 "set memory");
    stream->record(1);
    return stream->end_capture(std::move(former));
  };
  const auto kept = std::make_shared<int>(0);
  auto graph = capture(7, nullptr);
  for (const unsigned value : {7u, 9u}) {
    if (value == 9) graph = capture(value, std::move(graph));
    ASSERT_NE(graph, nullptr);
    device_->memory().fill(area.area(), {});
    graph->launch();
    stream->synchronize();
    EXPECT_EQ(device_->memory().scan(area.area(), {value, 4}).num_equal, 1024u);
    EXPECT_GT(stream->elapsed_us(0, 1), 0);
  }
  EXPECT_EQ(device_->caller_streams()->capture_of(stream->native()), 0u);
  EXPECT_FALSE(device_->caller_streams()->keep_with_graph(stream->native(), kept));
  stream->begin_capture();
  EXPECT_TRUE(device_->caller_streams()->keep_with_graph(stream->native(), kept));
  EXPECT_EQ(kept.use_count(), 2);
  stream->end_capture(nullptr).reset();
  EXPECT_TRUE(becomes_true([&] { return kept.use_count() == 1; })) << "on a thread of the driver's";
}

TEST_F(CudaGpu, GivesNoGraphOfWorkThatCannotBeCaptured) {
  const auto stream = device_->open_stream();
  const auto& driver = static_cast<CudaDevice&>(*device_).driver();
  stream->begin_capture();
  driver.cuStreamSynchronize(static_cast<CUstream>(stream->native()));
  EXPECT_EQ(stream->end_capture(nullptr), nullptr);
  stream->synchronize();
  EXPECT_TRUE(device_->healthy());
}

TEST_F(CudaGpu, RefusesMoreMemoryThanItHas) {
  EXPECT_THROW(device_->memory().allocate(uint64_t{1} << 46, 256), Error);
  EXPECT_TRUE(device_->healthy());
}

}  // namespace
}  // namespace attune
