// SPDX-License-Identifier: MIT
// The bound on the memory of plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "device/devices.h"
#include "testing/dispatcher_fixture.h"

namespace attune {
namespace {

using testing::HasSubstr;

TEST_F(DispatcherTest, WithoutPlansThatAreKeptEachCallHasItsOwn) {
  write("");
  options_.max_plan_bytes = 0;
  for (int64_t m = 1; m <= 8; ++m) EXPECT_NE(dispatcher().require(key(m)).plan, nullptr) << m;
  const DispatchCounts counts = dispatcher().counts();
  EXPECT_EQ(counts.plans, 0u);
  EXPECT_EQ(counts.evicted_plans, 8u);
  EXPECT_LT(counts.plan_bytes, 16384u) << "the last one, which this thread holds";
  EXPECT_EQ(dispatcher().choose(key(8)).plan, nullptr);
  std::array<float, 16> numbers{};
  const std::array<void*, 3> operands = {numbers.data(), numbers.data(), numbers.data() + 4};
  for (int i = 0; i < 3; ++i) dispatcher().run(key(1, 1, 1), operands);
  EXPECT_EQ(dispatcher().counts().shapes, 9u) << "a shape is counted once, whatever number of plans it had";
  EXPECT_THAT(dispatcher().explain(key(8)), HasSubstr("a plan that is made at each call"));
}

TEST_F(DispatcherTest, WithoutRoomAReloadLeavesNoPlanThatIsGone) {
  write(row(5, kGood));
  options_.max_plan_bytes = 0;
  dispatcher().require(key(5));
  write(row(5, kOther));
  EXPECT_TRUE(dispatcher().reload());
  EXPECT_EQ(dispatcher().choose(key(5)).plan, nullptr);
  std::vector<float> numbers(16 * 16);
  const std::array<void*, 3> operands = {numbers.data(), numbers.data(), numbers.data() + 128};
  for (int i = 0; i < 3; ++i) dispatcher().run(key(5, 1, 1), operands);
  EXPECT_NE(dispatcher().require(key(5)).plan, nullptr);
}

/// Plans of about 128 KB each; the bound admits a few.
class PlanBound : public DispatcherTest {
 protected:
  static constexpr int64_t kN = 128, kK = 256;
  static constexpr uint64_t kMaxBytes = uint64_t{2} << 20, kPlanBytes = 160 * 1024;

  void SetUp() override {
    write("");
    options_.max_plan_bytes = kMaxBytes;
  }
  static GemmKey shape(int64_t m) { return key(m, kN, kK); }
  void call(int64_t first, int64_t end) {
    for (int64_t m = first; m < end; ++m) EXPECT_NE(dispatcher().require(shape(m)).plan, nullptr) << m;
  }
  /// Runs a plan with m rows of ones, into its own output.
  static void run(const Plan& plan, int64_t m) {
    std::vector<float> x(static_cast<size_t>(m * kK), 1), w(kN * kK, 1), y(static_cast<size_t>(m * kN));
    plan.run({.operands = std::array<void*, 3>{x.data(), w.data(), y.data()}});
    EXPECT_EQ(y.back(), static_cast<float>(kK));
  }
};

TEST_F(PlanBound, IsKeptAndReachingItIsSaidOnce) {
  testing::internal::CaptureStderr();
  call(1, 13);
  EXPECT_EQ(dispatcher().counts().plan_limit_reached, 0u);
  [[maybe_unused]] const size_t before = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
  call(13, 81);
  [[maybe_unused]] const size_t after = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
#ifndef ATTUNE_SANITIZED  // The sanitizers' allocator does not report its memory.
  EXPECT_LT(after, before + kMaxBytes);
#endif
  const DispatchCounts counts = dispatcher().counts();
  EXPECT_LE(counts.plan_bytes, kMaxBytes);
  EXPECT_GT(counts.plan_bytes, kMaxBytes / 2);
  EXPECT_GT(counts.evicted_plans, 60u);
  EXPECT_EQ(counts.plans + counts.evicted_plans, 80u);
  EXPECT_GT(counts.plan_limit_reached, 1u);
  const std::string log = testing::internal::GetCapturedStderr();
  const auto first = log.find("plans exceed the limit of 2 MB");
  EXPECT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find("plans exceed", first + 1), std::string::npos) << log;
}

TEST_F(PlanBound, HoldsForSmallPlansWithAllThatIsAroundThem) {
  options_.max_plan_bytes = 512 * 1024;
  testing::internal::CaptureStderr();
  dispatcher().require(key(1, 1, 1));
  [[maybe_unused]] const size_t before = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
  for (int64_t m = 2; m <= 60; ++m) EXPECT_NE(dispatcher().require(key(m, 1, 1)).plan, nullptr);
  [[maybe_unused]] const size_t after = ::mallinfo2().uordblks + ::mallinfo2().hblkhd;
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(dispatcher().counts().evicted_plans, 0u);
#ifndef ATTUNE_SANITIZED  // The sanitizers' allocator does not report its memory.
  EXPECT_LT(after - before, dispatcher().counts().plan_bytes);
#endif
}

TEST_F(PlanBound, WhatIsCalledAgainAndAgainStays) {
  const Plan* hot = dispatcher().require(shape(1)).plan;
  for (int64_t m = 2; m < 80; ++m) {
    call(m, m + 1);
    EXPECT_EQ(dispatcher().choose(shape(1)).plan, hot);
  }
}

TEST_F(PlanBound, AShapeWhosePlanLeftIsMadeAgainAndCountedOnce) {
  call(1, 41);
  const Hit looked_up = dispatcher().choose(shape(1));
  EXPECT_EQ(looked_up.plan, nullptr);
  EXPECT_TRUE(looked_up.is_stand_in);
  EXPECT_NE(wait_for(shape(1), [](const Hit& hit) { return hit.plan != nullptr; }).plan, nullptr);
  call(1, 41);
  EXPECT_EQ(dispatcher().counts().shapes, 40u);
  EXPECT_EQ(dispatcher().counts().missed_shapes, 40u);
  EXPECT_THAT(dispatcher().explain(shape(1)), HasSubstr("an evicted plan"));
}

TEST_F(PlanBound, AHitLastsUntilItsThreadCallsAgain) {
  const Hit hit = dispatcher().require(shape(1));
  std::thread others([&] { call(2, 60); });
  others.join();
  EXPECT_EQ(dispatcher().counts().plans + dispatcher().counts().evicted_plans, 59u);
  run(*hit.plan, 1);
}

TEST_F(PlanBound, AKeptPlanOutlivesItsEviction) {
  const Hit hit = dispatcher().require(shape(1));
  const std::shared_ptr<const Plan> handle = dispatcher().keep(hit);
  EXPECT_EQ(handle.get(), hit.plan);
  call(2, 60);
  EXPECT_LE(dispatcher().counts().plan_bytes, kMaxBytes);
  run(*handle, 1);
  EXPECT_THROW(dispatcher().keep(hit), Error) << "it is not the last one";
  EXPECT_EQ(dispatcher().keep({}), nullptr);
}

TEST_F(PlanBound, HoldsWhenATableChangesForAll) {
  std::string rows;
  for (int64_t m = 1; m <= 40; ++m)
    rows += fmt::format("fake,4,{},128,256,torch.float32,torch.float32,1,{}\n", m, kGood);
  write(rows);
  call(1, 41);
  rows.clear();
  for (int64_t m = 1; m <= 40; ++m)
    rows += fmt::format("fake,4,{},128,256,torch.float32,torch.float32,1,{}\n", m, kOther);
  write(rows);
  EXPECT_TRUE(dispatcher().reload());
  EXPECT_LE(dispatcher().counts().plan_bytes, kMaxBytes);
  EXPECT_NE(dispatcher().choose(shape(40)).plan, nullptr) << "what was called last is served at once";
  call(1, 41);
  EXPECT_EQ(dispatcher().counts().shapes, 40u);
}

TEST_F(PlanBound, ManyThreadsWhilePlansLeave) {
  Dispatcher& shared = dispatcher();
  std::vector<std::thread> threads;
  std::atomic<int> num_run = 0;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 60; ++i) {
        const int64_t m = 1 + (i * 7 + thread * 5) % 24;
        const Hit hit = i % 2 == 0 ? shared.choose(shape(m)) : shared.require(shape(m));
        if (hit.plan == nullptr) continue;
        run(*hit.plan, m);
        ++num_run;
      }
    });
  }
  for (int i = 0; i < 6; ++i) {
    write(row(1, i % 2 ? kGood : kOther));
    dispatcher().reload();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(num_run, 90);
  EXPECT_LE(dispatcher().counts().plan_bytes, kMaxBytes + 4 * kPlanBytes);
}

TEST_F(PlanBound, AnApplicationCanHaveAllPlansLeave) {
  call(1, 9);
  EXPECT_EQ(dispatcher().release_memory(), 0u) << "these plans hold no memory of the device";
  EXPECT_EQ(dispatcher().counts().plans, 0u);
  EXPECT_EQ(dispatcher().counts().plan_bytes, 0u);
  EXPECT_EQ(dispatcher().counts().evicted_plans, 8u);
  EXPECT_EQ(dispatcher().counts().plan_limit_reached, 0u) << "no bound was exceeded";
  EXPECT_TRUE(dispatcher().choose(shape(1)).is_stand_in);
  const Hit again = dispatcher().require(shape(2));
  run(*again.plan, 2);
  EXPECT_EQ(dispatcher().counts().shapes, 8u);
}

TEST_F(PlanBound, WhatOthersHoldStaysWhenAnApplicationHasPlansLeave) {
  const std::shared_ptr<const Plan> kept = dispatcher().keep(dispatcher().require(shape(1)));
  std::atomic<const Plan*> of_another = nullptr;
  std::atomic<bool> is_released = false;
  std::thread other([&] {
    of_another = dispatcher().require(shape(2)).plan;
    of_another.notify_one();
    is_released.wait(false);
    run(*of_another.load(), 2);
  });
  of_another.wait(nullptr);
  dispatcher().release_memory();
  EXPECT_EQ(dispatcher().counts().plans, 0u);
  EXPECT_GT(dispatcher().counts().plan_bytes, 0u) << "the other thread's last hit";
  is_released = true;
  is_released.notify_one();
  other.join();
  run(*kept, 1);
}

TEST_F(DispatcherTest, ReleasedMemoryOfAHostIsThatOfPlansAndOfTheThreadsWorkspace) {
  const DeviceInfo host = find_device({.ids = "cpu:0"});
  // Without threads of a library: later tests fork.
  write(
      fmt::format("{},{},8,16,64,torch.float32,torch.float32,1,portable.gemm@1:block=4x4\n", host.gfx, host.num_units));
  Dispatcher dispatcher(
      {.device = host.id, .tables = {{"gemm_a16w16", {table_}}}, .poll_interval = std::chrono::milliseconds(0)});
  std::vector<float> x(8 * 64, 1), w(16 * 64, 1), y(8 * 16);
  const std::array<void*, 3> operands = {x.data(), w.data(), y.data()};
  EXPECT_EQ(dispatcher.run(key(8, 16, 64), operands).match, Match::exact);
  const uint64_t held = dispatcher.counts().plan_bytes;
  EXPECT_GT(held, 0u);
  EXPECT_GE(dispatcher.release_memory(), held);
  EXPECT_EQ(dispatcher.counts().plan_bytes, 0u);
  EXPECT_EQ(dispatcher.release_memory(), 0u);
  std::ranges::fill(y, -1.0f);
  dispatcher.run(key(8, 16, 64), operands);
  EXPECT_THAT(y, testing::Each(64.0f));
}

}  // namespace
}  // namespace attune
