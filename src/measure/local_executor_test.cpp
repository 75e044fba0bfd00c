// SPDX-License-Identifier: MIT
#include "measure/local_executor.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "device/fake/described_device.h"
#include "device/own_buffer.h"
#include "testing/local_executor_fixture.h"

namespace attune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(LocalExecutorTest, AnswersWithAContenderForEverySolver) {
  start();
  const OpenAnswer answer = open(1);
  EXPECT_EQ(answer.refused, "");
  ASSERT_EQ(answer.contenders.size(), 3u);
  EXPECT_EQ(answer.contenders[0].solver, "planted.gemm");
  EXPECT_EQ(answer.contenders[0].version, "1+7") << "with the library's";
  EXPECT_TRUE(answer.contenders[0].support.yes);
  EXPECT_EQ(answer.contenders[0].space.size(), 17u);
  EXPECT_EQ(answer.contenders[0].default_config.key(), "fault=none;us=5");
  EXPECT_EQ(answer.contenders[1].support, Support::no("the planted library is absent"));
  EXPECT_EQ(answer.contenders[2].support, Support::no("libgone.so: cannot open shared object file"));
}

TEST_F(LocalExecutorTest, OpensALibraryOnceAndOnlyWhenAProblemIsSupported) {
  start();
  EXPECT_EQ(open(1, "gemm_a16w16 m=20 n=40 k=999 dtype=fp32").contenders[0].support,
            Support::no("k=999 is not its thing"));
  EXPECT_EQ(opened_, 0);
  executor_->close(1);
  open(2);
  open(3);
  EXPECT_EQ(opened_, 1);
}

TEST_F(LocalExecutorTest, IsBusyWithTwoProblemsUntilOneIsClosed) {
  start();
  open(1);
  open(2);
  EXPECT_TRUE(open(3).busy);
  executor_->close(1);
  EXPECT_EQ(open(3).refused, "");
}

TEST_F(LocalExecutorTest, RefusesWhatDoesNotFitWithoutAllocatingIt) {
  start();
  const OpenAnswer answer = open(1, "gemm_a16w16 m=2000000000 n=2000000000 k=2000000000 dtype=fp32");
  EXPECT_THAT(answer.refused, HasSubstr("does not fit in memory"));
  EXPECT_THAT(answer.refused, HasSubstr("of 1.1 GB usable"));
  EXPECT_TRUE(answer.contenders.empty());
  EXPECT_EQ(device_->memory().allocated_bytes(), 0u);
}

TEST_F(LocalExecutorTest, LeavesAProblemToAnotherRunIfTooLittleMemoryIsFree) {
  start();
  executor_->set_memory_reserve(*device_->memory().free_bytes() - 1024);
  const OpenAnswer answer = open(1);
  EXPECT_TRUE(answer.lacks_memory);
  EXPECT_THAT(
      answer.refused,
      testing::MatchesRegex("it needs [0-9]+ MiB of fake:0, 0 MiB are free beside the [0-9]+ MiB kept for others"));
  EXPECT_TRUE(answer.contenders.empty());
  executor_->set_memory_reserve(0);
  EXPECT_EQ(open(1).refused, "");
}

TEST_F(LocalExecutorTest, AProblemWhoseOperandsFoundNoMemoryIsTriedAgain) {
  start();
  open(1);
  {
    const OwnBuffer all(device_->memory(), *device_->memory().free_bytes(), 1);
    const AdmitAnswer answer = admit(4, "fault=none;us=5");
    EXPECT_TRUE(answer.lacks_memory);
    EXPECT_EQ(answer.verified.status, Status::out_of_memory);
  }
  EXPECT_EQ(admit(5, "fault=none;us=5").verified.status, Status::ok);
}

TEST_F(LocalExecutorTest, CountsTheMemoryThatAnOpenProblemWillTake) {
  start();
  const Problem problem = Problem::parse("gemm_a16w16 m=20 n=40 k=64 dtype=fp32");
  const Op& op = op_of(problem);
  const auto bytes = static_cast<uint64_t>(
      bench_bytes(op, op.normalise(problem, device_->info()), Protocol{.seed = 5}, device_->info()));
  executor_->set_memory_reserve(*device_->memory().free_bytes() - bytes * 3 / 2);
  EXPECT_EQ(open(1).refused, "");
  const OpenAnswer second = open(2);
  EXPECT_TRUE(second.busy) << "it fits when the first is closed";
  EXPECT_FALSE(second.lacks_memory);
  executor_->close(1);
  EXPECT_FALSE(open(2).busy);
}

TEST_F(LocalExecutorTest, RefusesAReferenceThatTheHostWouldComputeForHours) {
  DescribedDevice device([](DeviceInfo& info) { info.memory_bytes = int64_t{1} << 40; });
  LocalExecutor executor(device, registry_);
  const auto open = [&](ProblemId id, const char* text) {
    return attune::open(executor, {id, Problem::parse(text), Protocol()}).refused;
  };
  EXPECT_EQ(open(1, "gemm_a16w16 m=16384 n=16384 k=32768 dtype=fp32"), "") << "exactly the limit";
  EXPECT_EQ(open(2, "gemm_a16w16 m=32768 n=32768 k=32768 dtype=fp32"),
            "the reference is too much for a host, and fake:0 has no kernel for it; use a smaller shape: "
            "7.04e+13 operations, 1.76e+13 is the limit");
}

TEST_F(LocalExecutorTest, RefusesWhatIsNotAProblem) {
  start();
  EXPECT_THAT(open(1, "gemm_a16w16 m=0 n=1 k=1").refused, HasSubstr("'m'"));
  EXPECT_THAT(open(1, "conv2 m=1").refused, HasSubstr("unknown op"));
}

TEST_F(LocalExecutorTest, AdmitsACorrectCandidateAndCountsItsLaunches) {
  start();
  open(1);
  const AdmitAnswer answer = admit(4, "fault=none;us=5");
  EXPECT_TRUE(answer.verified.ok()) << answer.verified.detail;
  EXPECT_EQ(answer.slot, 4u);
  EXPECT_EQ(answer.batch, 1u) << "virtual time is exact";
  EXPECT_EQ(answer.launches, 3u + 1u + 3u) << "verification, untimed, timed";
}

TEST_F(LocalExecutorTest, AFailedCandidateIsAnOutcome) {
  start();
  open(1);
  EXPECT_EQ(admit(1, "fault=tile_dropped;us=5").verified.status, Status::wrong_result);
  EXPECT_EQ(admit(2, "fault=throws;us=5").verified.status, Status::launch_failed);
  EXPECT_EQ(admit(3, "fault=load;us=5").verified.status, Status::load_failed);
  EXPECT_EQ(admit(4, "fault=none;us=5;workspace=600000000").verified.status, Status::out_of_memory);
  EXPECT_EQ(admit(5, "fault=none;us=0").verified.status, Status::implausible_time);
  EXPECT_EQ(admit(6, "fault=none;us=-3").verified.status, Status::implausible_time);
  EXPECT_EQ(admit(9, "fault=none;us=77").verified.status, Status::unsupported) << "none of the solver's configs";
  EXPECT_EQ(admit(7, {.candidate = {"planted.gemm", "0+1", Config::parse("fault=none;us=5")}}).verified.status,
            Status::unsupported)
      << "another version";
  EXPECT_EQ(admit(8, {.candidate = {"gone.gemm", "1", Config()}}).verified.detail,
            "gone.gemm libgone.so: cannot open shared object file");
  EXPECT_TRUE(sample({{.slot = 1}, {.slot = 5}}).samples.empty()) << "none of them can be sampled";
}

TEST_F(LocalExecutorTest, SamplesEveryTurnInOrder) {
  start();
  open(1);
  admit(1, "fault=none;us=5");
  admit(2, "fault=none;us=8;workspace=64");
  const SampleAnswer answer =
      sample({{.slot = 2, .round = 0, .launches = 16}, {.slot = 1, .round = 0}, {.slot = 1, .round = 1}});
  ASSERT_EQ(answer.samples.size(), 3u);
  EXPECT_EQ(answer.turns[0].slot, 2u);
  EXPECT_EQ(answer.samples[0], (Sample{.us = 8, .clock = 1, .round = 0, .dirty = false}));
  EXPECT_EQ(answer.samples[1].us, 5);
  EXPECT_EQ(answer.samples[2].round, 1u);
  EXPECT_EQ(answer.launches, 16u + 2u + 1u + 1u + 1u + 1u) << "untimed ones included";
  EXPECT_EQ(answer.dropped, 0u);
  EXPECT_TRUE(answer.failed.empty());
}

TEST_F(LocalExecutorTest, ATurnWithoutWarmUpIsItsTimedLaunchesAlone) {
  start();
  open(1);
  admit(1, "fault=none;us=5");
  const SampleAnswer answer =
      sample({{.slot = 1, .launches = 1, .has_warm_up = false}, {.slot = 1, .launches = 16, .has_warm_up = false}});
  ASSERT_EQ(answer.samples.size(), 2u);
  EXPECT_EQ(answer.samples[1].us, 5);
  EXPECT_EQ(answer.launches, 1u + 16u);
}

TEST_F(LocalExecutorTest, ReplaysAGraphOfEachTurnWithTheCopiesInAFreshOrder) {
  constexpr uint32_t kLaunches = 16;
  start();
  open(1, "gemm_a16w16 m=5 n=40 k=640 dtype=fp32", Timing::graph);
  EXPECT_EQ(admit(1, "enqueued=1;fault=none;us=5").timing, Timing::graph);
  std::vector<std::vector<void*>> orders;
  for (uint32_t round = 0; round < 3; ++round) {
    weights_.clear();
    const SampleAnswer answer = sample({{.slot = 1, .round = round, .launches = kLaunches, .timing = Timing::graph}});
    ASSERT_EQ(answer.samples.size(), 1u);
    EXPECT_EQ(answer.samples[0].us, 5) << "without what a launch takes beside its kernel";
    EXPECT_EQ(answer.launches, kLaunches + kLaunches / 8);
    ASSERT_EQ(weights_.size(), answer.launches) << "each launch runs once";
    orders.emplace_back(weights_.end() - kLaunches, weights_.end());
    EXPECT_GT(std::set<void*>(orders.back().begin(), orders.back().end()).size(), kLaunches / 2);
  }
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_NE(orders[1], orders[2]);
  EXPECT_EQ(sample({{.slot = 1, .timing = Timing::events}}).samples[0].us,
            static_cast<float>(5 + FakeDevice::kLaunchUs));
}

TEST_F(LocalExecutorTest, APlanThatCannotBeCapturedIsTimedByEvents) {
  start();
  open(1, "gemm_a16w16 m=20 n=40 k=64 dtype=fp32", Timing::graph);
  for (const char* config : {"fault=none;us=5", "enqueued=0;fault=none;us=5", "claims=1;fault=none;us=5"}) {
    const AdmitAnswer admitted = admit(1, config);
    EXPECT_TRUE(admitted.verified.ok()) << admitted.verified.detail;
    EXPECT_EQ(admitted.timing, Timing::events) << config;
    EXPECT_EQ(sample({{.slot = 1, .timing = Timing::events}}).samples.size(), 1u);
  }
}

TEST_F(LocalExecutorTest, WhatIsTimedByEventsIsNotCaptured) {
  start();
  open(1, "gemm_a16w16 m=20 n=40 k=64 dtype=fp32", Timing::events);
  EXPECT_EQ(admit(1, "enqueued=1;fault=none;us=5").timing, Timing::events);
}

TEST_F(LocalExecutorTest, MarksDisturbedSamplesDirty) {
  start({.dirty_share = 0.5, .dirty_factor = 2});
  open(1);
  admit(1, "fault=none;us=5");
  const SampleAnswer answer = sample(std::vector<Turn>(40, Turn{.slot = 1}));
  int dirty = 0;
  for (const Sample& sample : answer.samples) {
    EXPECT_EQ(sample.us, sample.dirty ? 10 : 5);
    dirty += sample.dirty ? 1 : 0;
  }
  EXPECT_GT(dirty, 8);
  EXPECT_LT(dirty, 32);
}

TEST_F(LocalExecutorTest, TakesASampleAgainWhenTheClockIsLowAndCountsIt) {
  start({.slow_clock_share = 1});
  open(1);
  admit(1, "fault=none;us=5");
  const SampleAnswer answer = sample({{.slot = 1}});
  EXPECT_EQ(answer.dropped, 3u);
  ASSERT_EQ(answer.samples.size(), 1u) << "then at the clock there is";
  EXPECT_EQ(answer.samples[0].clock, 0.5f);
  EXPECT_EQ(answer.launches, 5u);
}

/// The sentence with which a request ends because the device no longer works.
std::string end_of(const std::function<void()>& request) {
  try {
    request();
  } catch (const Error& error) {
    return error.code() == ErrorCode::device ? error.what() : "";
  }
  return "";
}

TEST_F(LocalExecutorTest, TheEndOfADeviceNamesTheCandidateThatRan) {
  const std::string sentence = "fake:0 stopped working; the candidate that ran is planted.gemm@1+7:fault=none;us=";
  start();
  open(1);
  ASSERT_TRUE(admit(1, "fault=none;us=5").verified.ok());
  ASSERT_TRUE(admit(2, "fault=none;us=6").verified.ok());
  at_end_ = [&] { device_->break_down(); };
  EXPECT_EQ(end_of([&] { admit(3, "fault=throws;us=5"); }),
            "fake:0 stopped working; the candidate that ran is planted.gemm@1+7:fault=throws;us=5");
  EXPECT_EQ(end_of([&] { sample({{.slot = 2}, {.slot = 1}}); }), sentence + "6");
  EXPECT_EQ(end_of([&] { executor_->drop(1); }), sentence + "5") << "when it is freed";
  EXPECT_EQ(end_of([&] { open(2); }), "fake:0 stopped working: while a problem was opened") << "no candidate ran";
}

TEST_F(LocalExecutorTest, ASlotThatFailsWhileSampledLosesItsSamplesAndSparesTheOthers) {
  start();
  open(1);
  admit(1, "fault=none;us=5");
  admit(2, "fault=none;us=6");
  // A deadline that no run can meet makes the second turn of slot 2 fail.
  auto late = Turn{.slot = 2, .round = 1, .launches = 40, .limit = Milliseconds(1)};
  const SampleAnswer answer =
      sample({{.slot = 2}, {.slot = 1}, late, {.slot = 2, .round = 2}, {.slot = 1, .round = 2}});
  ASSERT_EQ(answer.failed.size(), 1u);
  EXPECT_EQ(answer.failed[0].first, 2u);
  EXPECT_EQ(answer.failed[0].second.status, Status::timed_out);
  ASSERT_EQ(answer.turns.size(), 2u);
  EXPECT_EQ(answer.turns[0].slot, 1u);
  EXPECT_EQ(answer.turns[1].round, 2u);
}

TEST_F(LocalExecutorTest, DropAndCloseFreeWhatTheyHeld) {
  start();
  open(1);
  admit(1, "fault=none;us=5");
  executor_->drop(1);
  EXPECT_TRUE(sample({{.slot = 1}}).turns.empty());
  EXPECT_GT(device_->memory().allocated_bytes(), 0u);
  executor_->close(1);
  EXPECT_EQ(device_->memory().allocated_bytes(), 0u) << "at once, without a request";
}

TEST_F(LocalExecutorTest, RecyclingOpensLibrariesAndPreparesPlansAnew) {
  const auto num_freed = std::make_shared<int>(0);  // Plans are freed after the test, too.
  at_end_ = [num_freed] { ++*num_freed; };
  start();
  open(1);
  EXPECT_TRUE(admit(1, "fault=none;us=5").verified.ok());
  EXPECT_TRUE(admit(2, "fault=none;us=6").verified.ok());
  const uint64_t bytes = device_->memory().allocated_bytes();
  EXPECT_EQ(recycle(*executor_).epoch, 1u);
  EXPECT_EQ(opened_, 2);
  EXPECT_EQ(*num_freed, 2);
  EXPECT_LE(device_->memory().allocated_bytes(), bytes) << "the first bench is gone";
  const SampleAnswer sampled = sample({{.slot = 1, .round = 1}, {.slot = 2, .round = 1}});
  EXPECT_EQ(sampled.epoch, 1u);
  EXPECT_TRUE(sampled.failed.empty());
  ASSERT_EQ(sampled.samples.size(), 2u);
  EXPECT_FLOAT_EQ(sampled.samples[0].us, 5);
}

TEST_F(LocalExecutorTest, WhatCannotBePreparedAgainFailsInTheNextScheduleThatNamesIt) {
  start();
  open(1);
  EXPECT_TRUE(admit(1, "fault=none;us=5").verified.ok());
  EXPECT_TRUE(admit(2, "fault=none;us=6").verified.ok());
  executor_->skip_solvers({{0, "it killed its worker"}});  // its library can no longer be opened
  recycle(*executor_);
  EXPECT_THAT(sample({{.slot = 1, .round = 1}}).failed, ElementsAre(testing::Pair(1u, testing::_)));
  EXPECT_THAT(sample({{.slot = 1, .round = 1}, {.slot = 2, .round = 1}}).failed,
              ElementsAre(testing::Pair(2u, testing::_)))
      << "each is told once";
}

}  // namespace
}  // namespace attune
