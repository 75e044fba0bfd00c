// SPDX-License-Identifier: MIT
// A kind of device that this process registers: the run time serves it through its memory and streams alone.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
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
#include "device_call.h"
#include "measure/blocking_calls.h"
#include "measure/local_executor.h"
#include "measure/operands/reference_cache.h"
#include "solver/registry.h"
#include "testing/device_comparison_checks.h"
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

class AcceleratorTest : public testing::Test {
 protected:
  AcceleratorTest()
      : device_("toy:0"),
        dispatcher_({.device = "toy:0",
                     .tables = {{"gemm_a16w16", {table()}}},
                     .poll_interval = std::chrono::milliseconds(0)}) {}
  /// Rows whose kernels need a workspace (tile=4), and none.
  std::filesystem::path table() const { return table("bf16_tuned_gemm.csv", row(8, 32, 64, 4) + row(8, 48, 64, 2)); }
  static std::string row(int m, int n, int k, int tile) {
    return fmt::format("toy_1,8,{},{},{},False,fp32,fp32,False,5,toy_accelerator.gemm@1:fault=0;tile={}\n", m, n, k,
                       tile);
  }
  std::filesystem::path table(const std::string& name, const std::string& rows) const {
    return folder_.put(name, "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,us,kernelName\n" + rows);
  }
  Key key(int64_t n) { return dispatcher_.key(fmt::format("gemm_a16w16 m=8 n={} k=64 dtype=fp32", n)); }

  TestFolder folder_;
  Accelerator device_;
  Dispatcher dispatcher_;
};

TEST_F(AcceleratorTest, ReleasedMemoryIsItsWorkspacesAndTheNextCallIsRight) {
  const DeviceCall call(device_.memory(), 8, 32, 64);
  dispatcher_.run(key(32), call.operands());
  dispatcher_.require(key(48));
  EXPECT_EQ(dispatcher_.release_memory(), 256u);
  EXPECT_EQ(dispatcher_.counts().plans, 0u);
  EXPECT_EQ(dispatcher_.release_memory(), 0u);
  call.clear();
  dispatcher_.run(key(32), call.operands());
  EXPECT_TRUE(call.is_computed());
}

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

TEST_F(AcceleratorTest, WeightsThatNoneOfItsSolversReadsPackedAreRefusedInASentence) {
  const DeviceCall call(device_.memory(), 8, 32, 64);
  const std::array<const void*, 1> plain = {call.operands()[1]};
  std::string said;
  try {
    dispatcher_.pack_weights(key(32), plain);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    said = error.what();
  }
  EXPECT_THAT(said, testing::StartsWith("no solver on this machine supports packed weights: gemm_a16w16 m=1 n=32"));
}

TEST_F(AcceleratorTest, AKindThatCannotListItsDevicesCostsNobodyElseTheirs) {
  EXPECT_THAT(device_notices(), testing::ElementsAre("devices of the kind 'gone' are left out, its driver is gone"));
  std::vector<std::string> ids;
  for (const DeviceInfo& info : list_devices()) ids.push_back(info.id);
  EXPECT_THAT(ids, testing::ElementsAre("cpu:0", "fake:0", "toy:0", "toy:1"));
}

TEST_F(AcceleratorTest, ItsMemoryKeepsTheContract) { check_device_memory(device_.memory()); }

/// Admits candidates of the toy's solver and samples them in this process.
class SharedOperandsTest : public testing::Test {
 protected:
  SharedOperandsTest() : executor_(device_, solvers_) {
    solvers_.add(std::make_unique<AcceleratorSolver>());
    open(executor_, {1, Problem::parse("gemm_a16w16 m=4 n=13 k=24 dtype=fp32"), Protocol{.timing = Timing::graph}});
  }
  void admit(Slot slot, const char* config) {
    const Candidate candidate{"toy_accelerator.gemm", "1", Config::parse(config)};
    const AdmitAnswer admitted = attune::admit(executor_, {1, slot, {.candidate = candidate, .twice = true}});
    ASSERT_TRUE(admitted.verified.ok()) << admitted.verified.detail;
  }
  SampleAnswer sample(const std::vector<Slot>& slots) {
    request::Sample request;
    for (const Slot slot : slots) request.schedule.push_back({.slot = slot, .launches = 8, .timing = Timing::graph});
    return attune::sample(executor_, std::move(request));
  }
  std::string end_of(const std::vector<Slot>& slots) {
    try {
      sample(slots);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  static constexpr const char* kEnd =
      "the operands that all candidates are verified and timed with were changed; the candidate that ran is "
      "toy_accelerator.gemm@1:fault=3;tile=2";
  Accelerator device_{"toy:1"};
  Registry solvers_;
  LocalExecutor executor_;
};

TEST_F(SharedOperandsTest, AsManyProblemsAreOpenAsItsKindSays) {
  ASSERT_EQ(accelerator_kind().max_open_problems, 3u) << "more than the least";
  const auto is_busy = [&](ProblemId id) {
    return open(executor_, {id, Problem::parse("gemm_a16w16 m=4 n=13 k=24 dtype=fp32"), Protocol{}}).busy;
  };
  EXPECT_FALSE(is_busy(2));
  EXPECT_FALSE(is_busy(3));
  EXPECT_TRUE(is_busy(4));
}

TEST_F(SharedOperandsTest, NoSampleOfAScheduleCountsInWhichTheyWereChanged) {
  admit(1, "fault=0;tile=1");
  admit(2, "fault=3;tile=2");
  EXPECT_EQ(sample({1, 1, 1}).samples.size(), 3u);
  const SampleAnswer nothing = sample({1, 2, 1});
  EXPECT_TRUE(nothing.interrupted);
  EXPECT_TRUE(nothing.samples.empty());
  EXPECT_EQ(sample({1, 1, 1}).samples.size(), 3u) << "they were made anew, and nobody is blamed";
}

TEST_F(SharedOperandsTest, WhoChangesThemAgainIsCaughtInTheAct) {
  admit(1, "fault=0;tile=1");
  admit(2, "fault=3;tile=2");
  EXPECT_TRUE(sample({2, 1, 1}).interrupted);
  EXPECT_EQ(end_of({1, 2, 1}), kEnd);
}

TEST_F(SharedOperandsTest, WhoChangesThemInAScheduleOfItsOwnIsKnown) {
  admit(2, "fault=3;tile=2");
  EXPECT_EQ(end_of({2, 2}), kEnd);
}

TEST_F(AcceleratorTest, ItsOwnKernelsFillInputsComputeReferencesAndCompareOutputs) {
  check_device_fill(device_);
  check_device_references(device_);
  check_large_device_references(device_, kLongReferenceKeys, 50);
  check_device_comparison(device_);
}

TEST_F(AcceleratorTest, WhatTheBuildHasNoImageOfIsTheKindsOwn) {
  const int image = 0;
  const KernelImage built = {.kind = "toy", .data = &image};
  EXPECT_EQ(kernel_image({&built, 1}, "attune_compare", "toy"), &image);
  EXPECT_NE(kernel_image({}, "attune_compare", "toy"), nullptr);
  EXPECT_EQ(kernel_image({}, "attune_other", "toy"), nullptr);
  EXPECT_EQ(kernel_image({}, "attune_compare", "fake"), nullptr);
}

TEST_F(AcceleratorTest, ReferencesOfItsProductsHaveNoLimitOfAHost) {
  const auto refusal = [&](Device& device) {
    const Op& op = *find_op("gemm_a16w16");
    const Problem problem = op.normalise(Problem::parse("gemm_a16w16 m=40000 n=40000 k=40000"), device.info());
    return ReferenceCache::refusal(device, op, problem);
  };
  EXPECT_EQ(refusal(device_), "");
  EXPECT_THAT(refusal(*open_device("fake:0")),
              testing::HasSubstr("the reference is too much for a host, and fake:0 has no kernel"));
}

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
  for (const DeviceCall& call : calls) EXPECT_TRUE(call.is_computed());
}

/// An application's allocator of the device's memory.
struct OwnWorkspaces {
  WorkspaceAllocator functions() {
    return {.allocate = [this](void* stream, uint64_t bytes, uint32_t alignment) -> void* {
              ++num_allocated;
              streams.insert(stream);
              const Buffer area = device.memory().allocate(bytes, alignment);
              areas[area.data] = area;
              return area.data;
            },
            .release =
                [this](void*, void* memory) {
                  device.memory().release(areas.at(memory));
                  areas.erase(memory);
                }};
  }
  Accelerator& device;
  int num_allocated = 0;
  std::set<void*> streams{};
  std::map<void*, Buffer> areas{};
};

TEST_F(AcceleratorTest, WorkspacesAreTheApplicationsIfItHasAnAllocator) {
  OwnWorkspaces own{.device = device_};
  const auto first = device_.open_stream(), second = device_.open_stream();
  {
    Dispatcher dispatcher({.device = "toy:0",
                           .tables = {{"gemm_a16w16", {table()}}},
                           .poll_interval = std::chrono::milliseconds(0),
                           .workspaces = own.functions()});
    dispatcher.require(key(32));
    EXPECT_EQ(own.num_allocated, 0) << "nothing is reserved";
    std::vector<DeviceCall> calls;
    for (int i = 0; i < 4; ++i) calls.emplace_back(device_.memory(), 8, 32, 64);
    for (size_t i = 0; i < calls.size(); ++i)
      dispatcher.run(key(32), calls[i].operands(), (i % 2 == 0 ? first : second)->native());
    for (const DeviceCall& call : calls) EXPECT_TRUE(call.is_computed());
    EXPECT_THAT(own.streams, testing::UnorderedElementsAre(first->native(), second->native()));
    EXPECT_EQ(own.num_allocated, 2);
    const DeviceCall captured(device_.memory(), 8, 32, 64);
    first->begin_capture();
    dispatcher.run(key(32), captured.operands(), first->native());
    auto graph = first->end_capture(nullptr);
    ASSERT_NE(graph, nullptr) << "the allocation is no part of the capture";
    EXPECT_EQ(own.num_allocated, 3) << "the graph alone uses its own";
    graph->launch();
    EXPECT_TRUE(captured.is_computed());
    graph.reset();
    dispatcher.reload();
    EXPECT_EQ(own.areas.size(), 2u) << "the graph's is given back";
  }
  EXPECT_TRUE(own.areas.empty());
  EXPECT_THROW(Dispatcher({.device = "toy:0", .workspaces = {.allocate = own.functions().allocate, .release = {}}}),
               Error);
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

TEST_F(AcceleratorTest, AGraphGivesTheSameResultsWhilePlansLeaveAndTablesChange) {
  std::string rows = row(1, 8, 8, 4) + row(1, 16, 8, 2);
  Dispatcher own({.device = "toy:0",
                  .tables = {{"gemm_a16w16", {table("own.csv", rows)}}},
                  .poll_interval = std::chrono::milliseconds(0),
                  .max_plan_bytes = 8 << 10});
  const auto key_of = [&](int n) { return own.key(fmt::format("gemm_a16w16 m=1 n={} k=8 dtype=fp32", n)); };
  const auto stream = device_.open_stream(), other = device_.open_stream();
  std::vector<DeviceCall> captured;
  for (const int n : {8, 8, 16}) captured.emplace_back(device_.memory(), 1, n, 8);
  const auto run_all = [&] {
    for (size_t i = 0; i < captured.size(); ++i)
      own.run(key_of(i < 2 ? 8 : 16), captured[i].operands(), stream->native());
  };
  run_all();
  stream->begin_capture();
  run_all();
  auto graph = stream->end_capture(nullptr);
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(own.counts().captured_plans, 2u);
  // From now on plans that leave end at once: the capture is known to be over.
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  for (int i = 0; i < 10'000; ++i) {
    graph->launch();
    if (i % 100 != 0) continue;
    std::vector<DeviceCall> meanwhile;
    const auto call = [&](int n) {
      own.run(key_of(n), meanwhile.emplace_back(device_.memory(), 1, n, 8).operands(), other->native());
    };
    call(32 + i / 100);
    for (const DeviceCall& one : captured) one.clear();
    // The plans of the graph have left by now, so this makes one of them anew.
    if (i % 1000 == 0) {
      table("own.csv", rows += row(2, 8 + i, 8, 4));
      EXPECT_TRUE(own.reload());
      call(8);
    }
    graph->launch();
    for (const DeviceCall& one : captured) ASSERT_TRUE(one.is_computed()) << i;
    for (const DeviceCall& one : meanwhile) ASSERT_TRUE(one.is_computed()) << i;
  }
  EXPECT_GT(own.counts().evicted_plans, 90u);
  graph.reset();
  EXPECT_EQ(own.counts().captured_plans, 0u);
  const size_t num_allocations = device_.num_allocations();
  EXPECT_FALSE(own.reload());
  EXPECT_LT(device_.num_allocations(), num_allocations) << "the graph's workspace is freed after its end";
  EXPECT_TRUE(device_.healthy());
}

/// A dispatcher whose next plan evicts others, and operands of shapes of up to 64 columns; it made plans of up to 10.
class FullOfPlans {
 public:
  FullOfPlans(Accelerator& device, const std::filesystem::path& table)
      : dispatcher_({.device = "toy:0",
                     .tables = {{"gemm_a16w16", {table}}},
                     .poll_interval = std::chrono::milliseconds(0),
                     .max_plan_bytes = kMaxBytes}) {
    for (int n = 0; n < 64; ++n) calls_.emplace_back(device.memory(), 1, n + 1, 8);
    for (int n = 1; n <= 10 && !is_full(); ++n) call(n, nullptr);
  }
  void call(int n, void* stream) {
    const Key key = dispatcher_.key(fmt::format("gemm_a16w16 m=1 n={} k=8 dtype=fp32", n));
    dispatcher_.run(key, calls_[static_cast<size_t>(n) - 1].operands(), stream);
  }
  bool is_computed(int n) const { return calls_[static_cast<size_t>(n) - 1].is_computed(); }
  Dispatcher& dispatcher() { return dispatcher_; }
  DispatchCounts counts() const { return dispatcher_.counts(); }

 private:
  static constexpr uint64_t kMaxBytes = 8 << 10;
  /// Its plans are of one size.
  bool is_full() const {
    const DispatchCounts now = counts();
    return now.plans > 0 && now.plan_bytes + now.plan_bytes / now.plans > kMaxBytes;
  }
  Dispatcher dispatcher_;
  std::vector<DeviceCall> calls_;
};

TEST_F(AcceleratorTest, PlansThatLeaveWhileAStreamIsCapturedEndNoCapture) {
  FullOfPlans full(device_, table());
  const auto stream = device_.open_stream();
  const uint64_t evicted = full.counts().evicted_plans;
  stream->begin_capture();
  full.call(11, stream->native());
  EXPECT_GT(full.counts().evicted_plans, evicted) << "by the first call of the capture";
  for (int n = 12; n <= 20; ++n) full.call(n, stream->native());
  const auto graph = stream->end_capture(nullptr);
  ASSERT_NE(graph, nullptr) << "no call of it waited for the device";
  graph->launch();
  for (int n = 11; n <= 20; ++n) EXPECT_TRUE(full.is_computed(n)) << n;
}

TEST_F(AcceleratorTest, WhatAnotherThreadDoesWhileAStreamIsCapturedEndsNoCapture) {
  FullOfPlans full(device_, table());
  const auto stream = device_.open_stream(), other = device_.open_stream();
  stream->begin_capture();
  full.call(11, stream->native());
  std::thread([&] {
    for (int n = 21; n <= 30; ++n) full.call(n, other->native());
    full.dispatcher().reload();
  }).join();
  auto graph = stream->end_capture(nullptr);
  ASSERT_NE(graph, nullptr);
  graph->launch();
  for (const int n : {11, 21, 30}) EXPECT_TRUE(full.is_computed(n)) << n;
  const uint64_t bytes = full.counts().plan_bytes;
  full.dispatcher().reload();
  EXPECT_EQ(full.counts().plan_bytes, bytes) << "nobody knows that the capture has ended";
  graph.reset();
  full.dispatcher().reload();
  EXPECT_LT(full.counts().plan_bytes, bytes) << "what left meanwhile is freed";
}

TEST_F(AcceleratorTest, AShapeIsFirstCalledInACaptureAndCapturedAgain) {
  const auto stream = device_.open_stream();
  const DeviceCall first(device_.memory(), 8, 32, 64), second(device_.memory(), 8, 32, 64);
  std::vector<std::unique_ptr<Graph>> graphs;
  for (const DeviceCall* call : {&first, &second}) {
    stream->begin_capture();
    dispatcher_.run(key(32), call->operands(), stream->native());
    graphs.push_back(stream->end_capture(nullptr));
    ASSERT_NE(graphs.back(), nullptr) << "no plan or workspace that was made meanwhile belongs to the capture";
  }
  for (const auto& graph : graphs) graph->launch();
  EXPECT_TRUE(first.is_computed());
  EXPECT_TRUE(second.is_computed());
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
