// SPDX-License-Identifier: MIT
#include "dispatch/plans/stream_plan.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/fake/fake_device.h"
#include "device/own_buffer.h"
#include "dispatch/threads/fork_guard.h"
#include "testing/tuner_doubles.h"

namespace attune {
namespace {

/// Counts its runs in the prefix of its workspace while it runs, and records where it was.
class CountingPlan final : public Plan {
 public:
  explicit CountingPlan(std::vector<void*>& workspaces) : workspaces_(workspaces) {
    traits_.workspace_bytes = 512;
    traits_.workspace_alignment = kMaxWorkspaceAlignment;
    traits_.zeroed_bytes = 8;
    traits_.capturable = true;
    traits_.is_applications_own = true;
  }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    const std::byte* prefix = FakeMemory::reach(launch.workspace);
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(prefix[i], std::byte{0});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(launch.workspace) % kMaxWorkspaceAlignment, 0u);
    workspaces_.push_back(launch.workspace);
    if (launch.operands.empty()) return;
    FakeMemory::reach(launch.workspace)[3] = std::byte{1};
    fail(ErrorCode::device, "planted: it refuses half-way");
  }

 private:
  std::vector<void*>& workspaces_;
  PlanTraits traits_;
};

TEST(StreamPlan, HasAWorkspaceForEachStreamWithItsPrefixZero) {
  FakeDevice device;
  GraphHolds holds;
  std::vector<void*> workspaces;
  std::atomic<uint64_t> held = 0;
  {
    const auto plan = stream_plan(std::make_unique<CountingPlan>(workspaces), device, holds, {.held_bytes = &held});
    EXPECT_EQ(plan->traits().workspace_bytes, 0u) << "callers need give none";
    EXPECT_TRUE(plan->traits().is_applications_own) << "what else is known of the plan stays";
    EXPECT_EQ(plan->traits().device_bytes, 512u);
    EXPECT_EQ(device.memory().allocated_bytes(), 512u) << "reserved for the first stream";
    int streams[2];
    for (void* stream : {static_cast<void*>(&streams[0]), static_cast<void*>(&streams[1]),
                         static_cast<void*>(&streams[0]), static_cast<void*>(nullptr)})
      plan->run({.operands = {}, .stream = stream});
    EXPECT_EQ(workspaces[0], workspaces[2]);
    EXPECT_EQ(std::set<void*>(workspaces.begin(), workspaces.end()).size(), 3u);
    EXPECT_EQ(device.memory().allocated_bytes(), 3 * 512u);
    EXPECT_EQ(held, 3 * 512u);
  }
  EXPECT_EQ(held, 0u);
  EXPECT_EQ(device.memory().allocated_bytes(), 0u);
}

TEST(StreamPlan, ARunThatFailsLeavesNoPrefixBehind) {
  FakeDevice device;
  GraphHolds holds;
  std::vector<void*> workspaces;
  const auto plan = stream_plan(std::make_unique<CountingPlan>(workspaces), device, holds);
  void* operand = nullptr;
  EXPECT_THROW(plan->run({.operands = std::span(&operand, 1)}), Error);
  plan->run({});
  EXPECT_EQ(workspaces.size(), 2u);
}

TEST(StreamPlan, KeepsWorkspacesForABoundedNumberOfStreams) {
  FakeDevice device;
  GraphHolds holds;
  std::vector<void*> workspaces;
  const auto plan = stream_plan(std::make_unique<CountingPlan>(workspaces), device, holds);
  std::vector<char> streams(5 * kMaxStreams);
  for (char& stream : streams) plan->run({.operands = {}, .stream = &stream});
  EXPECT_LE(device.memory().allocated_bytes(), kMaxStreams * 512);
  EXPECT_FALSE(plan->traits().reentrant);
}

TEST(StreamPlan, IsRefusedWithoutMemory) {
  FakeDevice device;
  GraphHolds holds;
  std::vector<void*> workspaces;
  const OwnBuffer all(device.memory(), static_cast<uint64_t>(device.info().memory_bytes), 64);
  EXPECT_THROW(stream_plan(std::make_unique<CountingPlan>(workspaces), device, holds), Error);
}

/// An application's allocator over a device's memory, which knows what is in use.
class CountingAllocator {
 public:
  explicit CountingAllocator(FakeDevice& device) : device_(device) {}
  WorkspaceAllocator functions() {
    return {.allocate = [this](void* stream, uint64_t bytes, uint32_t alignment) -> void* {
              if (bytes > max) return nullptr;
              const Buffer area = device_.memory().allocate(bytes, alignment);
              in_use.emplace(area.data, std::pair(stream, bytes));
              return static_cast<std::byte*>(area.data) + shift;
            },
            .release =
                [this](void* stream, void* memory) {
                  void* const begin = static_cast<std::byte*>(memory) - shift;
                  const auto found = in_use.find(begin);
                  ASSERT_NE(found, in_use.end());
                  EXPECT_EQ(found->second.first, stream);
                  device_.memory().release({begin, found->second.second});
                  in_use.erase(found);
                }};
  }
  std::map<void*, std::pair<void*, uint64_t>> in_use;  ///< Stream and bytes, by address.
  uint64_t max = 1 << 20;
  size_t shift = 0;  ///< By which addresses are wrong.

 private:
  FakeDevice& device_;
};

TEST(StreamPlan, HasItsWorkspacesFromAnApplicationsAllocator) {
  FakeDevice device;
  GraphHolds holds;
  CountingAllocator allocator(device);
  const WorkspaceAllocator functions = allocator.functions();
  std::vector<void*> workspaces;
  {
    const auto plan = stream_plan(std::make_unique<CountingPlan>(workspaces), device, holds, {.allocator = &functions});
    EXPECT_EQ(plan->traits().workspace_bytes, 0u);
    EXPECT_EQ(plan->traits().device_bytes, 0u) << "they are not the plan's";
    EXPECT_TRUE(allocator.in_use.empty()) << "nothing is reserved";
    std::vector<char> streams(kMaxStreams + 1);
    for (int i = 0; i < 2; ++i) plan->run({.operands = {}, .stream = &streams[0]});
    EXPECT_EQ(allocator.in_use.size(), 1u);
    EXPECT_EQ(allocator.in_use.begin()->second, std::pair(static_cast<void*>(&streams[0]), uint64_t{512}));
    void* operand = nullptr;
    EXPECT_THROW(plan->run({.operands = std::span(&operand, 1), .stream = &streams[0]}), Error);
    EXPECT_TRUE(allocator.in_use.empty()) << "its prefix may not be zero any more";
    for (char& stream : streams) plan->run({.operands = {}, .stream = &stream});
    EXPECT_LE(allocator.in_use.size(), kMaxStreams);
  }
  EXPECT_TRUE(allocator.in_use.empty());
  EXPECT_EQ(device.memory().allocated_bytes(), 0u);
}

TEST(StreamPlan, RefusesAWrongWorkspaceOfAnApplication) {
  FakeDevice device;
  GraphHolds holds;
  CountingAllocator allocator(device);
  const WorkspaceAllocator functions = allocator.functions();
  std::vector<void*> workspaces;
  const auto plan = stream_plan(std::make_unique<CountingPlan>(workspaces), device, holds, {.allocator = &functions});
  allocator.max = 0;
  EXPECT_THROW(plan->run({}), Error) << "without memory";
  allocator.max = 1 << 20;
  allocator.shift = 16;
  EXPECT_THROW(plan->run({}), Error) << "not aligned";
  EXPECT_TRUE(allocator.in_use.empty()) << "it has the wrong one back";
  EXPECT_TRUE(workspaces.empty());
  allocator.shift = 0;
  plan->run({});
  EXPECT_EQ(workspaces.size(), 1u);
}

class CapturedStreamPlan : public testing::Test {
 protected:
  std::unique_ptr<Plan> counting_plan() {
    return stream_plan(std::make_unique<CountingPlan>(workspaces_), device_, holds_);
  }
  void run_on_stream(const Plan& plan) { plan.run({.operands = {}, .stream = stream_->native()}); }
  /// Captures two launches of the plan.
  std::unique_ptr<Graph> capture(const Plan& plan) {
    stream_->begin_capture();
    for (int i = 0; i < 2; ++i) run_on_stream(plan);
    return stream_->end_capture(nullptr);
  }
  uint64_t allocated_bytes() const { return device_.memory().allocated_bytes(); }

  mutable FakeDevice device_;
  GraphHolds holds_;
  std::vector<void*> workspaces_;
  std::unique_ptr<Stream> stream_ = device_.open_stream();
};

TEST_F(CapturedStreamPlan, HasAWorkspaceThatItsGraphAloneUses) {
  const auto plan = counting_plan();
  run_on_stream(*plan);
  const auto first = capture(*plan);
  ASSERT_NE(first, nullptr) << "nothing was allocated meanwhile";
  run_on_stream(*plan);
  const auto second = capture(*plan);
  run_on_stream(*plan);
  // Eager, twice captured, eager, twice captured, eager.
  EXPECT_EQ(workspaces_[1], workspaces_[2]);
  EXPECT_EQ(workspaces_[4], workspaces_[5]);
  EXPECT_EQ(std::set<void*>(workspaces_.begin(), workspaces_.end()).size(), 3u);
  EXPECT_EQ(workspaces_[0], workspaces_[3]);
  EXPECT_EQ(workspaces_[0], workspaces_[6]);
  EXPECT_EQ(holds_.num_held(), 2u);
}

TEST_F(CapturedStreamPlan, AnAllocatorsWorkspaceIsClearedInTheOrderOfItsStream) {
  // The stream that the memory is for may still have work on it.
  std::vector<std::byte> memory(1024);
  void* const place = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory.data()) + 255) / 256 * 256);
  const WorkspaceAllocator allocator{.allocate = [&](void*, uint64_t, uint32_t) { return place; },
                                     .release = [](void*, void*) {}};
  auto plan = stream_plan(std::make_unique<CountingPlan>(workspaces_), device_, holds_, {.allocator = &allocator});
  auto graph = capture(*plan);
  ASSERT_NE(graph, nullptr);
  static_cast<std::byte*>(place)[0] = std::byte{7};
  graph->launch();
  EXPECT_EQ(static_cast<std::byte*>(place)[0], std::byte{0});
  graph.reset();
  plan.reset();
  holds_.free_ended();  // The allocator ends before the fixture.
}

TEST_F(CapturedStreamPlan, LivesAsLongAsItsGraph) {
  auto plan = counting_plan();
  auto graph = capture(*plan);
  plan.reset();
  holds_.free_ended();
  EXPECT_EQ(allocated_bytes(), 512u) << "of the graph";
  graph.reset();
  EXPECT_EQ(holds_.num_held(), 0u);
  EXPECT_EQ(allocated_bytes(), 512u) << "a graph's end calls no device";
  holds_.free_ended();
  EXPECT_EQ(allocated_bytes(), 0u);
}

TEST_F(CapturedStreamPlan, MayBeGoingOnUntilItsGraphEndsOrItPausesForLong) {
  SetClock clock;
  GraphHolds holds(clock);
  const auto plan = stream_plan(std::make_unique<CountingPlan>(workspaces_), device_, holds);
  run_on_stream(*plan);
  EXPECT_FALSE(holds.may_be_capturing());
  auto graph = capture(*plan);
  EXPECT_TRUE(holds.may_be_capturing()) << "nobody says that the capture has ended";
  clock.at_s += GraphHolds::kMaxPauseS - 0.5;
  auto second = capture(*plan);
  clock.at_s += 1;
  EXPECT_TRUE(holds.may_be_capturing());
  clock.at_s += GraphHolds::kMaxPauseS;
  EXPECT_FALSE(holds.may_be_capturing());
  second = capture(*plan);
  graph.reset();
  EXPECT_TRUE(holds.may_be_capturing());
  second.reset();
  EXPECT_FALSE(holds.may_be_capturing());
}

TEST_F(CapturedStreamPlan, HasMoreWorkspacesForMoreStreamsWhileAWaitMightEndACapture) {
  SetClock clock;
  GraphHolds holds(clock);
  const auto plan = stream_plan(std::make_unique<CountingPlan>(workspaces_), device_, holds);
  const auto graph = capture(*plan);
  std::vector<char> streams(kMaxStreams + 3);
  for (char& stream : streams) plan->run({.operands = {}, .stream = &stream});
  EXPECT_EQ(allocated_bytes(), (streams.size() + 1) * 512);
  clock.at_s += GraphHolds::kMaxPauseS;
  char another = 0;
  plan->run({.operands = {}, .stream = &another});
  EXPECT_EQ(allocated_bytes(), 2 * 512u) << "of the graph, and of the last stream";
}

TEST_F(CapturedStreamPlan, ACaptureThatBecomesNoGraphHoldsNothing) {
  const auto plan = counting_plan();
  stream_->begin_capture();
  run_on_stream(*plan);
  stream_->synchronize();
  EXPECT_EQ(stream_->end_capture(nullptr), nullptr);
  EXPECT_EQ(holds_.num_held(), 0u);
}

TEST_F(CapturedStreamPlan, IsRefusedIfItCannotBeCaptured) {
  class WaitingPlan final : public Plan {
   public:
    const PlanTraits& traits() const noexcept override { return traits_; }
    void run(const Launch&) const override {}

   private:
    PlanTraits traits_;
  };
  const auto plan = stream_plan(std::make_unique<WaitingPlan>(), device_, holds_);
  EXPECT_NO_THROW(run_on_stream(*plan));
  EXPECT_THROW(capture(*plan), Error);
}

/// Streams of a device that does not learn when a graph ends.
class ForgetfulStreams final : public CallerStreams {
 public:
  uint64_t capture_of(void*) const noexcept override { return 1; }
  std::unique_ptr<CaptureExemption> exempt() override { return nullptr; }
  void clear(const Buffer&, std::optional<void*>) override {}
  bool keep_with_graph(void*, std::shared_ptr<void>) noexcept override { return false; }
};

TEST(GraphHolds, AreForEverIfTheDeviceDoesNotLearnOfAGraphsEnd) {
  ForgetfulStreams streams;
  const auto object = std::make_shared<int>(7);
  {
    GraphHolds holds;
    holds.hold(streams, nullptr, object);
    holds.free_ended();
    EXPECT_EQ(holds.num_held(), 1u);
  }
  EXPECT_EQ(object.use_count(), 2) << "a launch of the graph may follow";
}

/// Runs `look` in a child and returns whether it ended well. An alarm ends one that hangs.
bool ends_well_in_child(const std::function<bool()>& look) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(5);
    ::_exit(look() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

/// Streams whose graphs the test ends.
class HeldStreams final : public CallerStreams {
 public:
  uint64_t capture_of(void*) const noexcept override { return 1; }
  std::unique_ptr<CaptureExemption> exempt() override { return nullptr; }
  void clear(const Buffer&, std::optional<void*>) override {}
  bool keep_with_graph(void*, std::shared_ptr<void> object) noexcept override {
    graph = std::move(object);
    return true;
  }
  std::shared_ptr<void> graph;
};

TEST(GraphHolds, AGraphEndsInAChildOfForkWhateverOtherThreadsDid) {
  GraphHolds holds;
  HeldStreams here;
  holds.hold(here, nullptr, std::make_shared<int>(7));
  const std::jthread busy([&](const std::stop_token& stop) {
    HeldStreams there;
    while (!stop.stop_requested()) {
      holds.hold(there, nullptr, nullptr);
      there.graph.reset();
      holds.free_ended();
    }
  });
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(ends_well_in_child([&] {
      const uint64_t before = holds.num_held();
      here.graph.reset();
      return holds.num_held() == before - 1;
    }));
  }
}

/// Stays in its run until it is told to leave.
class StayingPlan final : public Plan {
 public:
  StayingPlan() { traits_.capturable = true; }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch&) const override {
    is_there = true;
    while (!leave) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    is_out = true;
  }
  mutable std::atomic<bool> is_there{false}, leave{false}, is_out{false};

 private:
  PlanTraits traits_;
};

TEST_F(CapturedStreamPlan, HasLeftItsRunWhenAForkBegins) {
  ForkGuard::prepare();
  auto staying = std::make_unique<StayingPlan>();
  StayingPlan& own = *staying;
  const auto plan = stream_plan(std::move(staying), device_, holds_);
  stream_->begin_capture();
  std::thread runner([&] { run_on_stream(*plan); });
  while (!own.is_there) std::this_thread::yield();
  own.leave = true;
  EXPECT_TRUE(ends_well_in_child([&] { return own.is_out.load(); }));
  runner.join();
  stream_->end_capture(nullptr);
}

}  // namespace
}  // namespace attune
