// SPDX-License-Identifier: MIT
#include "attune/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <span>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "dispatch/threads/dispatch_log.h"
#include "dispatch/threads/read_guard.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kGood = "fake.gemm@1:split_k=1;tile_m=32;tile_n=32";
constexpr const char* kOther = "fake.gemm@1:split_k=1;tile_m=16;tile_n=16";

GemmKey key(int64_t m, int64_t n = 16, int64_t k = 16) {
  return {.m = m, .n = n, .k = k, .in = DType::fp32, .out = DType::fp32};
}

class DispatcherTest : public testing::Test {
 protected:
  static std::string row(int64_t m, const std::string& kernel, double us = 1) {
    return fmt::format("fake,4,{},16,16,torch.float32,torch.float32,{},{}\n", m, us, kernel);
  }
  void write(const std::string& rows) {
    write_file_atomically(table_, "gfx,cu_num,M,N,K,dtype,outdtype,us,kernelName\n" + rows);
  }
  Dispatcher& dispatcher() {
    if (!dispatcher_) {
      options_.device = "fake:0";
      options_.tables["gemm_a16w16"] = {table_};
      dispatcher_ = std::make_unique<Dispatcher>(options_);
    }
    return *dispatcher_;
  }
  /// Looks up until the hit satisfies `wish`, for at most 2000 tries 1 ms apart.
  Hit wait_for(const GemmKey& wanted, const std::function<bool(const Hit&)>& wish) {
    Hit hit;
    for (int i = 0; i < 2000; ++i) {
      hit = dispatcher().choose(wanted);
      if (wish(hit)) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return hit;
  }

  TestFolder folder_;
  std::filesystem::path table_ = folder_.path() / "t.csv";
  DispatcherOptions options_{.poll_interval = std::chrono::milliseconds(0)};
  std::unique_ptr<Dispatcher> dispatcher_;
};

TEST_F(DispatcherTest, FindsTheExactRowThenPaddedFineThenCoarse) {
  write(row(5, kGood) + row(16, kOther) + row(2048, kGood));
  options_.lookup_only = true;
  options_.max_regret = 0;
  EXPECT_EQ(dispatcher().choose(key(5)).match, Match::exact);
  EXPECT_NE(dispatcher().choose(key(5)).row, 0u);
  EXPECT_EQ(dispatcher().choose(key(6)).match, Match::padded_fine);
  EXPECT_EQ(dispatcher().choose(key(6)).row, dispatcher().choose(key(16)).row);
  EXPECT_EQ(dispatcher().choose(key(1500)).match, Match::padded_coarse);
  EXPECT_EQ(dispatcher().choose(key(100)).match, Match::fallback);
  EXPECT_EQ(dispatcher().choose(key(100)).row, 0u);
  EXPECT_EQ(dispatcher().choose(key(5, 17)).match, Match::fallback);
  EXPECT_EQ(dispatcher().choose({.op = static_cast<OpId>(99), .m = 1, .n = 1, .k = 1}).row, 0u);
  EXPECT_EQ(dispatcher().counts().calls, 9u);
  EXPECT_EQ(dispatcher().counts().misses, 3u);
  EXPECT_EQ(dispatcher().counts().plans, 0u);
}

TEST_F(DispatcherTest, PredictsFromNearRowsWithABoundAndNotBeyondIt) {
  // Between M = 40 and 60 the times hardly grow: the kernel of 60 takes at most 1.1, the best at least 1.
  write(row(40, kGood, 1) + row(60, kOther, 1.1));
  options_.lookup_only = true;
  const Hit between = dispatcher().choose(key(50));
  EXPECT_EQ(between.match, Match::predicted);
  EXPECT_EQ(between.row, dispatcher().choose(key(60)).row);
  EXPECT_EQ(between.regret_percent, 10);
  const Hit above = dispatcher().choose(key(70));
  EXPECT_EQ(above.match, Match::predicted);
  EXPECT_EQ(above.row, between.row);
  EXPECT_EQ(above.regret_percent, 100);
  EXPECT_EQ(dispatcher().choose(key(121)).match, Match::fallback);
  EXPECT_EQ(dispatcher().choose(key(50, 16, 17)).match, Match::fallback);
  EXPECT_EQ(dispatcher().counts().misses, 2u);
  EXPECT_THAT(dispatcher().explain(key(50)), HasSubstr("predicted      m=60"));
  EXPECT_THAT(dispatcher().explain(key(50)), HasSubstr("at most 10 % slower than the best"));
}

TEST_F(DispatcherTest, TheNearerRowIsTakenThoughTheOtherHasTheSmallerBound) {
  write(row(100, kOther, 10) + row(400, kGood, 10.5));
  const Hit looked_up = dispatcher().choose(key(115));
  const Hit hit = dispatcher().require(key(115));
  EXPECT_EQ(hit.match, Match::predicted);
  EXPECT_EQ(hit.row, dispatcher().choose(key(100)).row);
  EXPECT_EQ(hit.row, looked_up.row);
  EXPECT_EQ(hit.regret_percent, 100);
}

TEST_F(DispatcherTest, ARowWithoutAKernelServesNothing) {
  write(row(5, "") + row(16, kGood));
  EXPECT_EQ(dispatcher().require(key(5)).match, Match::padded_fine);
}

TEST_F(DispatcherTest, PredictsNothingWhenNoRegretIsAllowed) {
  write(row(40, kGood) + row(60, kOther));
  options_.max_regret = 0;
  EXPECT_EQ(dispatcher().require(key(50)).match, Match::fallback);
}

TEST_F(DispatcherTest, APredictedRowThatCannotRunGivesWayToTheOther) {
  write(row(40, kGood, 1) + row(60, "gone.gemm@1:a=1", 1.01));
  const Hit hit = dispatcher().require(key(50));
  EXPECT_EQ(hit.match, Match::predicted);
  EXPECT_EQ(hit.row, dispatcher().choose(key(40)).row);
  EXPECT_GT(hit.regret_percent, 90);
  EXPECT_FALSE(hit.is_stand_in);
}

TEST_F(DispatcherTest, ANewShapeHasItsPlanWhenItIsRequiredOrALittleLater) {
  write(row(5, kGood) + row(6, kOther));
  EXPECT_EQ(dispatcher().choose(key(5)).plan, nullptr);
  EXPECT_TRUE(dispatcher().choose(key(5)).is_stand_in);
  const Hit required = dispatcher().require(key(5));
  ASSERT_NE(required.plan, nullptr);
  EXPECT_EQ(required.match, Match::exact);
  EXPECT_FALSE(required.is_stand_in);
  EXPECT_EQ(dispatcher().choose(key(5)).plan, required.plan);
  const Hit later = wait_for(key(6), [](const Hit& hit) { return hit.plan != nullptr; });
  EXPECT_NE(later.plan, nullptr);
  EXPECT_NE(later.plan, required.plan);
}

TEST_F(DispatcherTest, RunsWhatItFound) {
  write(row(2, kGood));
  std::array<float, 32> a{}, b{};
  std::array<float, 4> c{};
  a.fill(1);
  b.fill(2);
  for (const int64_t m : {2, 1}) {
    c.fill(0);
    const std::array<void*, 3> operands = {a.data(), b.data(), c.data()};
    dispatcher().run(key(m, 2, 16), operands);
    EXPECT_THAT(std::vector<float>(c.begin(), c.begin() + 2 * m), testing::Each(32.0F));
  }
}

/// Runs candidates on a 2×2 product of ones and twos with k = 16.
class CandidateRun : public DispatcherTest {
 protected:
  static constexpr const char* kProblem = "gemm_a16w16 m=2 n=2 k=16 dtype=fp32";
  /// Returns the error's code and sentence; empty if it ran with the expected result.
  std::string run(std::string_view candidate, std::string_view problem = kProblem, size_t num_operands = 3) {
    c_.fill(0);
    const std::array<void*, 5> operands = {a_.data(), b_.data(), c_.data(), c_.data(), c_.data()};
    try {
      dispatcher().run_candidate(problem, candidate, std::span(operands).first(num_operands));
    } catch (const Error& error) {
      EXPECT_THAT(c_, testing::Each(0.0F)) << "what is refused is not run";
      return fmt::format("{}: {}", name(error.code()), error.what());
    }
    EXPECT_THAT(c_, testing::Each(32.0F));
    return {};
  }
  std::array<float, 32> a_ = filled(1), b_ = filled(2);
  std::array<float, 4> c_{};

 private:
  static std::array<float, 32> filled(float value) {
    std::array<float, 32> all{};
    all.fill(value);
    return all;
  }
};

TEST_F(CandidateRun, RunsWhatItIsGivenWhateverTheTablesSay) {
  write(row(2, "gone.gemm@1:a=1"));
  EXPECT_EQ(run(kGood), "");
  EXPECT_EQ(run(kOther), "");
  EXPECT_EQ(dispatcher().counts().plans, 2u);
  EXPECT_EQ(run(kGood, "gemm_a16w16 dtype=fp32 k=16 n=2 m=2 bias=0"), "");
  EXPECT_EQ(run("fake.gemm@1:tile_n=32;tile_m=32;split_k=1"), "");
  EXPECT_EQ(dispatcher().counts().plans, 2u) << "the same problem and candidate, written otherwise";
  EXPECT_EQ(dispatcher().counts().calls, 0u);
}

TEST_F(CandidateRun, RunsWhenNoPlanIsKept) {
  write("");
  options_.max_plan_bytes = 0;
  for (const char* candidate : {kGood, kOther, kOther, kGood}) EXPECT_EQ(run(candidate), "");
  EXPECT_EQ(dispatcher().counts().plans, 0u);
  EXPECT_EQ(dispatcher().counts().evicted_plans, 4u);
}

TEST_F(CandidateRun, WrongTextsAndConfigsAreInvalid) {
  write("");
  const auto invalid = [](const char* says) { return AllOf(testing::StartsWith("invalid_input"), HasSubstr(says)); };
  EXPECT_THAT(run("_ZN5aiter4gemmE"), invalid("solver@version:config"));
  EXPECT_THAT(run(""), invalid("solver@version:config"));
  EXPECT_THAT(run("fake.gemm@1:split_k=1;tile_m=17;tile_n=32"), invalid("tile_m"));
  EXPECT_THAT(run("fake.gemm@1:split_k=1;tile_m=32"), invalid("the solver does not offer this config"));
  EXPECT_THAT(run("fake.gemm@1:split_k=1;tile_m=128;tile_n=128"), invalid("does not fit the registers"));
  EXPECT_THAT(run(kGood, "gemm_a16w16 m=2 n=2"), invalid("'k'"));
  EXPECT_THAT(run(kGood, "gemm_x m=2"), invalid("gemm_x"));
  EXPECT_THAT(run(kGood, ""), invalid(""));
  EXPECT_THAT(run(kGood, kProblem, 2), invalid("3 operands, got 2"));
  EXPECT_THAT(run(kGood, kProblem, 4), invalid("3 operands, got 4"));
  EXPECT_THAT(run(kGood, "gemm_a16w16 m=2 n=2 k=16 dtype=fp32 bias=1"), invalid("4 operands, got 3"));
}

TEST_F(CandidateRun, WhatIsNotHereIsUnavailable) {
  write("");
  const auto unavailable = [](const char* says) { return AllOf(testing::StartsWith("unavailable"), HasSubstr(says)); };
  EXPECT_THAT(run("gone.gemm@1:a=1"), unavailable("gone.gemm"));
  EXPECT_THAT(run("fake.gemm@2:split_k=1;tile_m=32;tile_n=32"),
              unavailable("made with fake.gemm 2, this machine has 1"));
  EXPECT_EQ(dispatcher().counts().plans, 0u);
}

TEST_F(CandidateRun, PlainWeightsRunNoKernelOfPackedOnes) {
  write("");
  const std::string packed = "fake.gemm@1:b_layout=host.k16.v1;split_k=1;tile_m=32;tile_n=32";
  const std::string problem = std::string(kProblem) + " bpreshuffle=1";
  EXPECT_THAT(run(packed), HasSubstr("it reads weights in the layout host.k16.v1, these are plain"));
  EXPECT_THAT(run(packed, problem), HasSubstr("it reads weights in the layout host.k16.v1, these are plain"));
  EXPECT_EQ(run("fake.gemm@1:b_layout=plain;split_k=1;tile_m=32;tile_n=32", problem), "");
}

TEST_F(CandidateRun, OperandsAreThoseOfTheProblem) {
  write("");
  const auto specs = dispatcher().operands("gemm_a16w16 m=2 n=3 k=4 dtype=fp16 outdtype=fp32 bias=1 trans_a=1");
  ASSERT_EQ(specs.size(), 4u);
  EXPECT_THAT(specs[0].shape, ElementsAre(4, 2));
  EXPECT_THAT(specs[1].shape, ElementsAre(3, 4));
  EXPECT_THAT(specs[2].shape, ElementsAre(3));
  EXPECT_EQ(specs[2].dtype, DType::fp16);
  EXPECT_EQ(specs[3].dtype, DType::fp32);
  EXPECT_THROW(dispatcher().operands("gemm_a16w16 m=2"), Error);
}

TEST_F(DispatcherTest, ARowThatDoesNotServeFallsThrough) {
  write(row(5, "_ZN5aiter4gemmE") + row(16, "fake.gemm@0:split_k=1;tile_m=32;tile_n=32") + row(8, "gone.gemm@1:a=1"));
  testing::internal::CaptureStderr();
  const Hit hit = dispatcher().require(key(5));
  EXPECT_NE(hit.plan, nullptr);
  EXPECT_EQ(hit.match, Match::fallback);
  EXPECT_EQ(dispatcher().require(key(5)).plan, hit.plan);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("t.csv:2: the row does not serve gemm_a16w16 m=5"));
  EXPECT_THAT(said, HasSubstr("made with fake.gemm 0, this machine has 1"));
  EXPECT_THAT(said, HasSubstr("no row of a table serves"));
  EXPECT_EQ(dispatcher().require(key(7)).match, Match::fallback);
}

TEST_F(DispatcherTest, WhatIsNoProblemIsRefused) {
  write("");
  EXPECT_THROW(dispatcher().require(key(0)), Error);
  EXPECT_THROW(dispatcher().require({.op = OpId::fmoe, .m = 1, .n = 1, .k = 1}), Error);
  EXPECT_THROW(dispatcher().require({.op = static_cast<OpId>(99)}), Error);
  EXPECT_THROW(dispatcher().require({.m = 1, .n = 1, .k = 1, .in = static_cast<DType>(200)}), Error);
  EXPECT_EQ(dispatcher().choose(key(-5)).plan, nullptr);
  EXPECT_THROW(Dispatcher({.device = "none:0"}), Error);
}

TEST_F(DispatcherTest, AChangedTableIsSeenAndPlansStay) {
  write(row(5, kGood) + row(6, kGood));
  const Hit first = dispatcher().require(key(5)), same = dispatcher().require(key(6));
  EXPECT_FALSE(dispatcher().reload());
  write(row(6, kGood) + row(5, kOther));
  EXPECT_TRUE(dispatcher().reload());
  const Hit second = dispatcher().choose(key(5));
  EXPECT_NE(second.plan, nullptr) << "what was served is served at once";
  EXPECT_NE(second.plan, first.plan);
  EXPECT_THAT(dispatcher().explain(key(5)), HasSubstr("t.csv:3 " + std::string(kOther)));
  EXPECT_EQ(dispatcher().choose(key(6)).plan, same.plan);
  std::filesystem::remove(table_);
  EXPECT_TRUE(dispatcher().reload());
  EXPECT_EQ(dispatcher().choose(key(5)).match, Match::fallback);
  EXPECT_EQ(dispatcher().counts().reloads, 2u);
  EXPECT_EQ(dispatcher().counts().shapes, 2u);
  EXPECT_EQ(dispatcher().counts().missed_shapes, 2u) << "no row serves them any more";
  write(row(6, kGood));
  dispatcher().reload();
  std::filesystem::remove(table_);
  dispatcher().reload();
  EXPECT_EQ(dispatcher().counts().missed_shapes, 2u) << "each is counted once";
}

TEST_F(DispatcherTest, LooksAtItsTablesByItself) {
  write(row(5, kGood));
  options_.poll_interval = std::chrono::milliseconds(2);
  dispatcher().require(key(5));
  write(row(5, kOther) + row(6, kOther));
  EXPECT_EQ(wait_for(key(6), [](const Hit& hit) { return hit.match == Match::exact; }).match, Match::exact);
}

TEST_F(DispatcherTest, AWrongTableIsSkipped) {
  write("fake,4,many,16,16,torch.float32,torch.float32,1,x\n" + row(5, kGood));
  EXPECT_THAT(dispatcher().notices(), ElementsAre(HasSubstr("1 row that cannot be read")));
  EXPECT_EQ(dispatcher().require(key(5)).match, Match::exact);
  write_file_atomically(table_, "no table at all\n");
  EXPECT_TRUE(dispatcher().reload());
  EXPECT_THAT(dispatcher().notices(), ElementsAre(HasSubstr("a table is skipped")));
}

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
  const std::string said = testing::internal::GetCapturedStderr();
  const auto first = said.find("plans exceed the limit of 2 MB");
  EXPECT_NE(first, std::string::npos) << said;
  EXPECT_EQ(said.find("plans exceed", first + 1), std::string::npos) << said;
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

TEST_F(DispatcherTest, PackedWeightsWithoutTheirLayoutAreRefused) {
  write("");
  GemmKey packed = key(5);
  packed.flags = GemmKey::bpreshuffle;
  for (int i = 0; i < 3; ++i) EXPECT_THROW(dispatcher().require(packed), Error);
  EXPECT_EQ(dispatcher().choose(packed).plan, nullptr);
}

TEST_F(DispatcherTest, WhatTheOpHasNoColumnForIsRefusedAndNotPassedOver) {
  write(row(5, kGood));
  dispatcher().require(key(5));
  GemmKey batched = key(5);
  batched.batch = 2;
  EXPECT_EQ(dispatcher().choose(batched).plan, nullptr);
  EXPECT_EQ(dispatcher().choose(batched).row, 0u);
  EXPECT_THROW(dispatcher().require(batched), Error);
  EXPECT_THROW(dispatcher().pack_weights(batched, &batched), Error);
  EXPECT_NE(dispatcher().choose(key(5)).plan, nullptr);
}

TEST_F(DispatcherTest, WhatIsRefusedOnceIsSaidOnce) {
  write("");
  testing::internal::CaptureStderr();
  for (int i = 0; i < 20; ++i) EXPECT_THROW(dispatcher().require(key(0)), Error);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_THAT(dispatcher().explain(key(0)), HasSubstr("served by       nothing: "));
}

TEST_F(DispatcherTest, AChildOfAForkFindsNoLockTaken) {
  write(row(5, kGood));
  dispatcher().require(key(5));
  std::atomic<bool> stop = false;
  std::thread busy([&] {
    for (int64_t m = 1; !stop; m = m % 1000 + 1) dispatcher().require(key(m, 8, 8));
  });
  for (int i = 0; i < 5; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(5);
      ::_exit(dispatcher().require(key(5000 + i, 4, 4)).plan != nullptr ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  busy.join();
}

TEST_F(DispatcherTest, ExplainsEachStep) {
  write(row(16, kGood));
  dispatcher().require(key(5));
  EXPECT_THAT(dispatcher().explain(key(5)),
              testing::AllOf(HasSubstr("exact          m=5: no row"), HasSubstr("padded_fine    m=16: "),
                             HasSubstr(kGood), HasSubstr("served by       padded_fine")));
}

TEST_F(DispatcherTest, ExplainsWhichPredictionsAreNotAllowed) {
  options_.max_regret = 0.25;
  write(row(40, kGood, 1) + row(60, kOther, 1.4));
  EXPECT_THAT(dispatcher().explain(key(50)),
              AllOf(HasSubstr("predicted      m=60: "), HasSubstr("at most 20 % slower than the best\n"),
                    HasSubstr("predicted      m=40: "), HasSubstr("slower than the best, above the limit"),
                    HasSubstr("not called yet")));
}

TEST_F(DispatcherTest, SaysNoMoreThanItsBound) {
  write("");
  options_.lookup_only = false;
  testing::internal::CaptureStderr();
  for (int64_t m = 1; m <= 1000; ++m) dispatcher().require(key(m));
  for (int64_t m = 1; m <= 1000; ++m) dispatcher().choose(key(m, 17));
  dispatcher_.reset();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_LE(std::count(said.begin(), said.end(), '\n'), 100);
  EXPECT_THAT(said, HasSubstr("lookups found no row in the tables"));
}

TEST_F(DispatcherTest, ManyReadersWhileTablesChange) {
  write(row(5, kGood));
  dispatcher().require(key(5));
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> num_served = 0;
  std::vector<std::thread> readers;
  for (int thread = 0; thread < 2; ++thread) {
    readers.emplace_back([&] {
      while (!stop) {
        for (int64_t m = 1; m < 24; ++m) num_served += dispatcher().choose(key(m)).plan != nullptr ? 1 : 0;
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    write(row(5, i % 2 ? kGood : kOther) + row(16 + i % 3, kGood));
    EXPECT_TRUE(dispatcher().reload());
    EXPECT_NE(dispatcher().choose(key(5)).plan, nullptr);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_GT(num_served, 0u);
}

TEST(ReadGuardTest, WaitsForWhoReadsAndForNobodyElse) {
  wait_for_readers();
  std::atomic<int> step = 0;
  std::thread reader([&] {
    const ReadGuard reading;
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  std::thread waiter([&] {
    wait_for_readers();
    EXPECT_EQ(step, 2);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  step = 2;
  reader.join();
  waiter.join();
}

}  // namespace
}  // namespace attune
