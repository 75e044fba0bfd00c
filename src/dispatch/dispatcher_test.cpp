// SPDX-License-Identifier: MIT
#include "attune/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"
#include "dispatch/capture/captured_shapes.h"
#include "formats/csv/shape_list.h"
#include "testing/dispatcher_fixture.h"
#include "testing/environment.h"

namespace attune {
namespace {

using testing::HasSubstr;

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

TEST_F(DispatcherTest, AKeyOfTooFewOrTooManyValuesSaysHowManyThereAre) {
  write("");
  const auto refusal_of = [&](size_t num_values) -> std::string {
    const std::vector<int64_t> values(num_values, 1);
    try {
      dispatcher().require(Key(OpId::gemm_a16w16, values));
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal_of(2), HasSubstr("a key of gemm_a16w16 has 3 to "));
  EXPECT_THAT(refusal_of(2), HasSubstr("got 2"));
  EXPECT_THAT(refusal_of(16), HasSubstr("got 16"));
}

TEST_F(DispatcherTest, ARowWithoutAKernelServesNothing) {
  write(row(5, "") + row(16, kGood));
  EXPECT_EQ(dispatcher().require(key(5)).match, Match::padded_fine);
}

/// Whether this process may start a thread.
bool starts_threads() {
  try {
    std::thread([] {}).join();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

TEST_F(DispatcherTest, ServesWithoutItsThreadWhereNoneCanBeStarted) {
  constexpr uid_t kNobody = 65534;  // The limit of processes does not hold for root.
  constexpr int kServed = 0, kNotServed = 1, kHasThreads = 2;
  write(row(5, kGood));
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none{0, 0};
    if ((::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) || ::setrlimit(RLIMIT_NPROC, &none) != 0 ||
        starts_threads())
      ::_exit(kHasThreads);
    const auto is_served = [&] {
      const Hit hit = dispatcher().require(key(5));
      const auto notices = dispatcher().notices();
      const bool is_said = std::ranges::any_of(
          notices, [](const std::string& one) { return one.find("serves without its thread") != one.npos; });
      dispatcher_.reset();
      return hit.match == Match::exact && !hit.is_stand_in && is_said;
    };
    try {
      ::_exit(is_served() ? kServed : kNotServed);
    } catch (...) {
      ::_exit(kNotServed);
    }
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "a signal ended it: " << status;
  if (WEXITSTATUS(status) == kHasThreads) GTEST_SKIP() << "RLIMIT_NPROC holds no thread back here";
  EXPECT_EQ(WEXITSTATUS(status), kServed);
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

TEST_F(DispatcherTest, ARowThatCannotRunGivesWayToTheNextOfItsKey) {
  write(row(5, "gone.gemm@1:a=1", 1) + row(5, kOther, 3) + row(5, kGood, 2));
  const Hit hit = dispatcher().require(key(5));
  EXPECT_EQ(hit.match, Match::exact);
  EXPECT_THAT(dispatcher().explain(key(5)), HasSubstr("t.csv:4"));
  EXPECT_FALSE(hit.is_stand_in);
  EXPECT_NE(hit.plan, nullptr);
}

TEST_F(DispatcherTest, APredictedAlternateKeepsTheBound) {
  // Its own time is 3 times that of the row that cannot run, so its bound is 200 %.
  write(row(40, "gone.gemm@1:a=1", 1) + row(40, kGood, 3));
  EXPECT_EQ(dispatcher().require(key(39)).match, Match::fallback);
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
  c.fill(0);
  const std::array<void*, 3> operands = {a.data(), b.data(), c.data()};
  attune::run(*dispatcher().require(key(2, 2, 16)).plan, operands);
  EXPECT_THAT(c, testing::Each(32.0F)) << "a plan by itself";
}

TEST_F(DispatcherTest, ARunSaysWhatServedIt) {
  write(row(2, kGood));
  std::array<float, 48> a{}, c{};
  std::array<float, 256> b{};
  const std::array<void*, 3> operands = {a.data(), b.data(), c.data()};
  const Hit served = dispatcher().run(key(2), operands);
  EXPECT_EQ(served.match, Match::exact);
  EXPECT_EQ(served.row, dispatcher().choose(key(2)).row);
  EXPECT_NE(served.row, 0u);
  EXPECT_EQ(dispatcher().run(key(2, 2, 16), operands).row, 0u);
}

TEST_F(DispatcherTest, ACallerWithKernelsOfItsOwnGetsThePlansOfRowsAlone) {
  write(row(32, kGood));
  const Hit hit = dispatcher().require_row(key(32));
  EXPECT_EQ(hit.match, Match::exact);
  ASSERT_NE(hit.plan, nullptr) << "at the first call";
  EXPECT_EQ(hit.plan->traits().workspace_bytes, 0u);
  const Hit again = dispatcher().require_row(key(32));
  EXPECT_EQ(again.plan, hit.plan);
  for (int i = 0; i < 2; ++i) {
    const Hit none = dispatcher().require_row(key(32, 48));
    EXPECT_EQ(none.plan, nullptr);
    EXPECT_EQ(none.row, 0u);
    EXPECT_EQ(dispatcher().require(key(32, 48)).row, 0u);
    EXPECT_EQ(dispatcher().require_row(key(32, 48)).plan, nullptr) << "though a default plan is there";
  }
  EXPECT_EQ(dispatcher().require_row(key(0)).plan, nullptr) << "no problem has no row";
  testing::internal::CaptureStderr();
  dispatcher_.reset();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("7 of 10 lookups found no row in the tables"));
}

/// What the caller's own kernel computes is tuned beside it, without a plan that nobody would run.
TEST_F(DispatcherTest, AShapeIsTunedOnlineThoughTheCallersOwnKernelServesIt) {
  const TestEnvironment home("ATTUNE_HOME", folder_.path().string()), program("ATTUNE_PROGRAM", "/bin/true");
  const auto queue = folder_.path() / "online" / "fake_0-fake-4" / "bf16_untuned_gemm.csv";
  Dispatcher online({.device = "fake:0", .poll_interval = std::chrono::milliseconds(20), .online_tuning = true});
  for (int i = 0; i < 4000 && !std::filesystem::exists(queue); ++i) {
    EXPECT_EQ(online.require_row(key(32, 48)).plan, nullptr);
    EXPECT_EQ(online.require_row(key(64, 48)).plan, nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  online.finish();
  const ShapeList waiting = read_shapes(queue);
  EXPECT_EQ(waiting.shapes.size(), 2u);
  EXPECT_EQ(online.counts().plans, 0u);
}

TEST_F(DispatcherTest, AShapeIsCapturedThoughTheCallersOwnKernelServesIt) {
  write(row(32, kGood));
  options_.capture = folder_.path() / "captured";
  dispatcher().require_row(key(32, 48));
  dispatcher().require_row(key(32));
  dispatcher_.reset();
  const auto captured = read_captures(std::vector<std::filesystem::path>{options_.capture});
  ASSERT_EQ(captured.size(), 1u);
  EXPECT_EQ(captured.front().shapes.size(), 2u);
  for (const auto& shape : captured.front().shapes) EXPECT_EQ(shape.calls, 1u);
}

TEST_F(DispatcherTest, ARowThatDoesNotServeFallsThrough) {
  write(row(5, "_ZN5aiter4gemmE") + row(16, "fake.gemm@0:split_k=1;tile_m=32;tile_n=32") + row(8, "gone.gemm@1:a=1"));
  testing::internal::CaptureStderr();
  const Hit hit = dispatcher().require(key(5));
  EXPECT_NE(hit.plan, nullptr);
  EXPECT_EQ(hit.match, Match::fallback);
  EXPECT_EQ(dispatcher().require(key(5)).plan, hit.plan);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("t.csv:2: the row does not serve gemm_a16w16 m=5"));
  EXPECT_THAT(log, HasSubstr("made with fake.gemm 0, this machine has 1"));
  EXPECT_THAT(log, HasSubstr("no row of a table serves"));
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
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  EXPECT_THAT(dispatcher().explain(key(0)), HasSubstr("served by       nothing: "));
}

TEST_F(DispatcherTest, AChildOfAForkFindsNoLockTaken) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's allocator may be locked for ever in a child that is forked while a thread allocates";
#endif
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

TEST_F(DispatcherTest, SaysNoMoreThanItsBound) {
  write("");
  options_.lookup_only = false;
  testing::internal::CaptureStderr();
  for (int64_t m = 1; m <= 1000; ++m) dispatcher().require(key(m));
  for (int64_t m = 1; m <= 1000; ++m) dispatcher().choose(key(m, 17));
  dispatcher_.reset();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_LE(std::count(log.begin(), log.end(), '\n'), 100);
  EXPECT_THAT(log, HasSubstr("lookups found no row in the tables"));
}

TEST_F(DispatcherTest, ACallThatFailsIsNotCaptured) {
  write(row(2, kGood));
  options_.capture = folder_.path() / "captured";
  std::array<float, 32> a{}, b{}, c{};
  const std::array<void*, 3> operands = {a.data(), b.data(), c.data()};
  const std::array<void*, 3> without_output = {a.data(), b.data(), nullptr};
  dispatcher().run(key(2, 2, 16), operands);
  dispatcher().require(key(2, 2, 16));
  dispatcher().choose(key(2, 2, 16));
  EXPECT_THROW(dispatcher().run(key(2, 2, 16), without_output), Error);
  EXPECT_THROW(dispatcher().run(key(3, 2, 16), std::span(operands).first(2)), Error);
  EXPECT_THROW(dispatcher().require(key(0, 2, 16)), Error);
  dispatcher_.reset();
  const auto captured = read_captures(std::vector<std::filesystem::path>{options_.capture});
  ASSERT_EQ(captured.size(), 1u);
  ASSERT_EQ(captured.front().shapes.size(), 1u);
  EXPECT_EQ(captured.front().shapes.front().problem.integer("m"), 2);
  EXPECT_EQ(captured.front().shapes.front().calls, 3u);
}

TEST_F(DispatcherTest, TheLastLineDoesNotClaimACaptureThatFailed) {
  write("");
  options_.capture = folder_.put("a_file", "") / "below";
  testing::internal::CaptureStderr();
  dispatcher().require(key(5));
  dispatcher_.reset();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("1 of 1 lookups found no row in the tables, of 1 shape; they are not all captured, set "
                             "ATTUNE_CAPTURE_DIR to a folder that can be written: cannot create the folder"));
}

}  // namespace
}  // namespace attune
