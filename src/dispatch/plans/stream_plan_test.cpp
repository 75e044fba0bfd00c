// SPDX-License-Identifier: MIT
#include "dispatch/plans/stream_plan.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/error.h"
#include "device/fake/fake_device.h"
#include "device/own_buffer.h"

namespace attune {
namespace {

/// Counts its runs in the prefix of its workspace while it runs, and records where it was.
class CountingPlan final : public Plan {
 public:
  explicit CountingPlan(std::vector<void*>& workspaces) : workspaces_(workspaces) {
    traits_.workspace_bytes = 512;
    traits_.zeroed_bytes = 8;
  }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    const std::byte* prefix = FakeMemory::reach(launch.workspace);
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(prefix[i], std::byte{0});
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
  std::vector<void*> workspaces;
  {
    const auto plan = stream_plan(std::make_unique<CountingPlan>(workspaces), device);
    EXPECT_EQ(plan->traits().workspace_bytes, 0u) << "callers need give none";
    EXPECT_EQ(device.memory().allocated_bytes(), 512u) << "reserved for the first stream";
    int streams[2];
    for (void* stream : {static_cast<void*>(&streams[0]), static_cast<void*>(&streams[1]),
                         static_cast<void*>(&streams[0]), static_cast<void*>(nullptr)})
      plan->run({.operands = {}, .stream = stream});
    EXPECT_EQ(workspaces[0], workspaces[2]);
    EXPECT_EQ(std::set<void*>(workspaces.begin(), workspaces.end()).size(), 3u);
    EXPECT_EQ(device.memory().allocated_bytes(), 3 * 512u);
  }
  EXPECT_EQ(device.memory().allocated_bytes(), 0u);
}

TEST(StreamPlan, ARunThatFailsLeavesNoPrefixBehind) {
  FakeDevice device;
  std::vector<void*> workspaces;
  const auto plan = stream_plan(std::make_unique<CountingPlan>(workspaces), device);
  void* operand = nullptr;
  EXPECT_THROW(plan->run({.operands = std::span(&operand, 1)}), Error);
  plan->run({});
  EXPECT_EQ(workspaces.size(), 2u);
}

TEST(StreamPlan, KeepsWorkspacesForABoundedNumberOfStreams) {
  FakeDevice device;
  std::vector<void*> workspaces;
  const auto plan = stream_plan(std::make_unique<CountingPlan>(workspaces), device);
  std::vector<char> streams(5 * kMaxStreams);
  for (char& stream : streams) plan->run({.operands = {}, .stream = &stream});
  EXPECT_LE(device.memory().allocated_bytes(), kMaxStreams * 512);
  EXPECT_FALSE(plan->traits().reentrant);
  EXPECT_FALSE(plan->traits().capturable);
}

TEST(StreamPlan, IsRefusedWithoutMemory) {
  FakeDevice device;
  std::vector<void*> workspaces;
  const OwnBuffer all(device.memory(), static_cast<uint64_t>(device.info().memory_bytes), 64);
  EXPECT_THROW(stream_plan(std::make_unique<CountingPlan>(workspaces), device), Error);
}

}  // namespace
}  // namespace attune
