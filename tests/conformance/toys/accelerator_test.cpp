// SPDX-License-Identifier: MIT
// A kind of device that this process registers: the run time serves it through its memory and streams alone.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "accelerator/accelerator_device.h"
#include "accelerator/accelerator_solver.h"
#include "attune/dispatcher.h"
#include "attune/error.h"
#include "device/devices.h"
#include "device/own_buffer.h"
#include "solver/registry.h"
#include "testing/device_memory_checks.h"
#include "testing/test_files.h"

namespace attune::toys {
namespace {

const bool kIsAccelerator = [] {
  register_device_kind(accelerator_kind());
  register_device_kind({.name = "gone",
                        .list = []() -> std::vector<DeviceInfo> { throw std::runtime_error("its driver is gone"); },
                        .open = [](std::string_view, int64_t) { return std::unique_ptr<Device>(); }});
  register_solver(std::make_unique<AcceleratorSolver>());
  return true;
}();

/// A product of ones and twos in the device's memory: each element of C is 2·K.
class DeviceCall {
 public:
  DeviceCall(DeviceMemory& memory, int64_t m, int64_t n, int64_t k)
      : memory_(memory), expected_(2.0f * static_cast<float>(k)) {
    put(static_cast<size_t>(m * k), 1);
    put(static_cast<size_t>(n * k), 2);
    put(static_cast<size_t>(m * n), -1);
  }
  std::array<void*, 3> operands() const { return {buffers_[0].data(), buffers_[1].data(), buffers_[2].data()}; }
  bool is_computed() const {
    std::vector<float> c(buffers_[2].area().bytes / sizeof(float));
    memory_.download(std::as_writable_bytes(std::span(c)), buffers_[2].data());
    return std::all_of(c.begin(), c.end(), [&](float one) { return one == expected_; });
  }

 private:
  void put(size_t count, float value) {
    const std::vector<float> values(count, value);
    buffers_.emplace_back(memory_, count * sizeof(float), 256);
    memory_.upload(buffers_.back().data(), std::as_bytes(std::span(values)));
  }
  DeviceMemory& memory_;
  float expected_;
  std::vector<OwnBuffer> buffers_;
};

class AcceleratorTest : public testing::Test {
 protected:
  AcceleratorTest()
      : device_("toy:0"),
        dispatcher_({.device = "toy:0",
                     .tables = {{"gemm_a16w16", {table()}}},
                     .poll_interval = std::chrono::milliseconds(0)}) {}
  /// Rows whose kernels need a workspace (tile=4), and none.
  std::filesystem::path table() const {
    const auto row = [](int n, int tile) {
      return fmt::format("toy_1,8,8,{},64,False,fp32,fp32,False,5,toy_accelerator.gemm@1:fault=0;tile={}\n", n, tile);
    };
    return folder_.put("bf16_tuned_gemm.csv",
                       "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,us,kernelName\n" + row(32, 4) + row(48, 2));
  }
  Key key(int64_t n) { return dispatcher_.key(fmt::format("gemm_a16w16 m=8 n={} k=64 dtype=fp32", n)); }

  TestFolder folder_;
  Accelerator device_;
  Dispatcher dispatcher_;
};

TEST_F(AcceleratorTest, RowsServeOperandsInItsMemory) {
  for (const int64_t n : {32, 48}) {
    const Hit hit = dispatcher_.require(key(n));
    EXPECT_EQ(hit.match, Match::exact);
    EXPECT_FALSE(hit.is_stand_in);
    const DeviceCall call(device_.memory(), 8, n, 64);
    dispatcher_.run(key(n), call.operands());
    EXPECT_TRUE(call.is_computed()) << n;
  }
}

TEST_F(AcceleratorTest, AKindThatCannotListItsDevicesCostsNobodyElseTheirs) {
  EXPECT_THAT(device_notices(), testing::ElementsAre("devices of the kind 'gone' are left out, its driver is gone"));
  std::vector<std::string> ids;
  for (const DeviceInfo& info : list_devices()) ids.push_back(info.id);
  EXPECT_THAT(ids, testing::ElementsAre("cpu:0", "fake:0", "toy:0", "toy:1"));
}

TEST_F(AcceleratorTest, ItsMemoryKeepsTheContract) { check_device_memory(device_.memory()); }

TEST_F(AcceleratorTest, APlanThatLeavesWaitsForItsWork) {
  const auto stream = device_.open_stream();
  const DeviceCall call(device_.memory(), 8, 48, 64);
  {
    Dispatcher other({.device = "toy:0", .poll_interval = std::chrono::milliseconds(0)});
    other.run(key(48), call.operands(), stream->native());
  }
  EXPECT_TRUE(call.is_computed());
}

TEST_F(AcceleratorTest, CallsOnTwoStreamsHaveAWorkspaceEach) {
  const auto first = device_.open_stream(), second = device_.open_stream();
  std::vector<DeviceCall> calls;
  for (int i = 0; i < 6; ++i) calls.emplace_back(device_.memory(), 8, 32, 64);
  for (size_t i = 0; i < calls.size(); ++i)
    dispatcher_.run(key(32), calls[i].operands(), (i % 2 == 0 ? first : second)->native());
  second->synchronize();
  first->synchronize();
  for (const DeviceCall& call : calls) EXPECT_TRUE(call.is_computed());
}

TEST_F(AcceleratorTest, ACallIsDoneWhenItsStreamIs) {
  const auto stream = device_.open_stream();
  const DeviceCall call(device_.memory(), 8, 48, 64);
  stream->record(0);
  dispatcher_.run(key(48), call.operands(), stream->native());
  stream->record(1);
  stream->synchronize();
  EXPECT_EQ(stream->elapsed_us(0, 1), 10) << "of tile=2";
  EXPECT_TRUE(call.is_computed());
}

TEST_F(AcceleratorTest, AGraphReplaysWhatWasCapturedUnlessItsThreadAllocatedOrWaited) {
  const auto stream = device_.open_stream();
  int runs = 0;
  const auto capture = [&](const std::function<void()>& meanwhile, std::unique_ptr<Graph> former) {
    stream->begin_capture();
    stream->record(0);
    device_.enqueue(stream->native(), 10, [&] { ++runs; });
    stream->record(1);
    meanwhile();
    return stream->end_capture(std::move(former));
  };
  std::unique_ptr<Graph> graph;
  for (int i = 1; i <= 3; ++i) {
    graph = capture([] {}, std::move(graph));
    ASSERT_NE(graph, nullptr);
    stream->synchronize();
    EXPECT_EQ(runs, i - 1) << "captured work does not run";
    graph->launch();
    stream->synchronize();
    EXPECT_EQ(runs, i);
    EXPECT_EQ(stream->elapsed_us(0, 1), 10);
  }
  EXPECT_EQ(capture([&] { OwnBuffer(device_.memory(), 8, 256); }, nullptr), nullptr);
  EXPECT_EQ(capture([&] { stream->synchronize(); }, nullptr), nullptr);
  EXPECT_NE(capture([&] { std::thread([&] { OwnBuffer(device_.memory(), 8, 256); }).join(); }, nullptr), nullptr);
  EXPECT_EQ(runs, 3);
}

}  // namespace
}  // namespace attune::toys
