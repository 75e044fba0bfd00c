// SPDX-License-Identifier: MIT
#include "dispatch/threads/thread_workspace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <thread>

namespace attune {
namespace {

class PlanWithWorkspace final : public Plan {
 public:
  explicit PlanWithWorkspace(uint64_t bytes, uint64_t zeroed_bytes = 0) {
    traits_.workspace_bytes = bytes;
    traits_.zeroed_bytes = zeroed_bytes;
  }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch&) const override {}

 private:
  PlanTraits traits_;
};

TEST(ThreadWorkspace, IsOneForAllPlansOfAThread) {
  EXPECT_EQ(thread_workspace(PlanWithWorkspace(0)), nullptr);
  void* const large = thread_workspace(PlanWithWorkspace(1 << 16));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(large) % kMaxWorkspaceAlignment, 0u);
  EXPECT_EQ(thread_workspace(PlanWithWorkspace(100)), large);
  void* of_another = nullptr;
  std::thread([&] { of_another = thread_workspace(PlanWithWorkspace(100)); }).join();
  EXPECT_NE(of_another, nullptr);
  EXPECT_NE(of_another, large);
}

TEST(ThreadWorkspace, IsFreedOnRequestAndMadeAgain) {
  std::thread([] {
    EXPECT_EQ(free_thread_workspace(), 0u);
    EXPECT_NE(thread_workspace(PlanWithWorkspace(100)), nullptr);
    EXPECT_EQ(free_thread_workspace(), kMaxWorkspaceAlignment);
    EXPECT_EQ(free_thread_workspace(), 0u);
    EXPECT_NE(thread_workspace(PlanWithWorkspace(100)), nullptr);
  }).join();
}

/// Computes once more when its thread ends, after the workspace's own end.
struct LateCall {
  bool* result = nullptr;
  ~LateCall() {
    if (result == nullptr) return;
    void* const others = std::malloc(4096);  // Most likely where the workspace was.
    void* const mine = thread_workspace(PlanWithWorkspace(4096));
    *result = mine != nullptr && mine != others;
    std::free(others);
    if (*result)
      std::free(mine);  // Kept for ever otherwise, which a leak check reports. The thread makes no more calls.
  }
};

TEST(ThreadWorkspace, IsNoFreedMemoryInADestructorThatRunsAfterItsEnd) {
  bool is_mine = false;
  std::thread([&] {
    thread_local LateCall late;
    late.result = &is_mine;
    thread_workspace(PlanWithWorkspace(4096));
  }).join();
  EXPECT_TRUE(is_mine);
}

TEST(ThreadWorkspace, BeginsWithTheZerosThatAPlanWants) {
  std::memset(thread_workspace(PlanWithWorkspace(512)), 1, 512);
  const auto* begin = static_cast<const unsigned char*>(thread_workspace(PlanWithWorkspace(512, 64)));
  EXPECT_TRUE(std::ranges::all_of(std::span(begin, 64), [](unsigned char byte) { return byte == 0; }));
  EXPECT_EQ(begin[64], 1);
}

}  // namespace
}  // namespace attune
