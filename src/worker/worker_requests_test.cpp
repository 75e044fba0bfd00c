// SPDX-License-Identifier: MIT
// Requests to a worker's executor: one at a time, in one poll with other descriptors, and aborted.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "measure/blocking_calls.h"
#include "testing/poll_loop.h"
#include "testing/worker_fixture.h"
#include "worker/worker_executor.h"

namespace attune {
namespace {

TEST_F(WorkerExecutorTest, AnAbortedRecycleIsAnswered) {
  open();
  const uint32_t before = recycle();
  EXPECT_GT(aborted<RecycleAnswer>(request::Recycle{}).epoch, before);
  EXPECT_TRUE(executor().workers().processes.empty()) << "no worker was started";
}

/// A program that starts this one after a quarter of a second.
std::vector<std::string> slow_to_start(const std::vector<std::string>& command) {
  std::vector<std::string> slow = {"/bin/sh", "-c", "sleep 0.25; exec \"$@\"", "sh"};
  slow.insert(slow.end(), command.begin(), command.end());
  slow[4] = std::filesystem::read_symlink(command.front()).string();
  return slow;
}

TEST_F(WorkerExecutorTest, TicksWhileAFreshWorkerStarts) {
  options_.command = slow_to_start(options_.command);
  open();
  int num_ticks = 0;
  const auto tick = [&] { return ++num_ticks > 1000; };
  const uint32_t before = sample({}).epoch;
  EXPECT_GT(attune::recycle(executor(), tick).epoch, before);
  EXPECT_GE(num_ticks, 3) << "ten times a second";
  EXPECT_FALSE(executor().workers().processes.empty());
}

TEST_F(WorkerExecutorTest, IsAbortedWhileAFreshWorkerStarts) {
  options_.command = slow_to_start(options_.command);
  open();
  int num_ticks = 0;
  attune::recycle(executor(), [&] { return ++num_ticks == 2; });
  EXPECT_EQ(num_ticks, 2) << "the first of them before the worker was asked for";
  EXPECT_TRUE(executor().workers().processes.empty()) << "it was given up";
}

TEST_F(WorkerExecutorTest, EveryAbortedRequestIsAnswered) {
  EXPECT_EQ(aborted<OpenAnswer>(request::Open{1, problem_, {}}),
            (OpenAnswer{.problem = 1, .refused = "the run was stopped"}));
  open();
  EXPECT_EQ(aborted<AdmitAnswer>(admission(2, good_)).verified.status, Status::cancelled);
  open();
  const auto sampled = aborted<SampleAnswer>(request::Sample{{{.slot = 2}}});
  EXPECT_TRUE(sampled.interrupted && sampled.is_cancelled);
  EXPECT_FALSE(is_readable(executor().descriptor())) << "nothing is outstanding any more";
  executor().abort();
  EXPECT_FALSE(executor().take()) << "nothing was outstanding";
  EXPECT_EQ(executor().num_deaths(), 0u) << "and nobody is blamed";
}

TEST_F(WorkerExecutorTest, DoesOneRequestAtATime) {
  EXPECT_FALSE(executor().take()) << "there is none";
  EXPECT_FALSE(is_readable(executor().descriptor()));
  executor().begin(request::Open{1, problem_, {}});
  EXPECT_DEATH(executor().begin(request::Recycle{}), "one request at a time");
  EXPECT_DEATH(executor().close(1), "while a request is outstanding");
  EXPECT_DEATH(executor().drop(1), "while a request is outstanding");
  executor().abort();
  EXPECT_DEATH(executor().begin(request::Recycle{}), "one request at a time") << "its answer was not taken";
  EXPECT_TRUE(executor().take());
  EXPECT_FALSE(executor().take()) << "an answer is taken once";
  EXPECT_EQ(open().refused, "");
}

TEST_F(WorkerExecutorTest, ItsDescriptorIsReadableOnceTheAnswerIsThere) {
  plant({{bad_, "slow", "run", "from:7"}});  // a second a launch
  open();
  ASSERT_TRUE(admit(1, bad_, Milliseconds(20'000)).verified.ok());
  executor().begin(request::Sample{{Turn{1, 0, 1, Milliseconds(20'000)}}});
  EXPECT_TRUE(is_readable(executor().descriptor())) << "take() is to send it";
  EXPECT_FALSE(executor().take());
  EXPECT_FALSE(is_readable(executor().descriptor(), Milliseconds(200))) << "the worker is at work";
  const auto answer = finish();
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<SampleAnswer>(*answer).turns.size(), 1u);
  EXPECT_FALSE(is_readable(executor().descriptor(), Milliseconds(50)));
}

TEST_F(WorkerExecutorTest, IsWaitedForBesideOtherThingsInOnePoll) {
  plant({{bad_, "slow", "run", "always"}});
  const Pipe pipe;
  int num_bytes = 0;
  executor().begin(request::Open{1, problem_, {}});
  auto answer = answer_beside(executor(), pipe, [] {});
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<OpenAnswer>(*answer).refused, "");
  for (int i = 0; i < 3; ++i) pipe.put();
  executor().begin(admission(1, bad_, Milliseconds(0)));
  answer = answer_beside(executor(), pipe, [&] {
    if (++num_bytes == 3) executor().abort();  // as after a signal
  });
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<AdmitAnswer>(*answer).verified.status, Status::cancelled);
  EXPECT_EQ(num_bytes, 3);
}

TEST_F(WorkerExecutorTest, AnIdleWorkerThatIsKilledWakesNobody) {
  ::kill(executor().workers().processes.front(), SIGKILL);
  EXPECT_FALSE(is_readable(executor().descriptor(), Milliseconds(600))) << "longer than between looks at deadlines";
  EXPECT_EQ(open().refused, "");
}

TEST_F(WorkerExecutorTest, AnAnswerThatCameInTimeCountsHoweverLateItIsTaken) {
  options_.longest = Milliseconds(1000);
  open();
  executor().begin(admission(1, good_));
  EXPECT_FALSE(executor().take());
  std::this_thread::sleep_for(Milliseconds(1500));
  const auto answer = executor().take();
  ASSERT_TRUE(answer);
  EXPECT_TRUE(std::get<AdmitAnswer>(*answer).verified.ok());
  EXPECT_EQ(executor().num_deaths(), 0u);
}

TEST_F(WorkerExecutorTest, WhatIsDroppedOrClosedIsGoneForEverybody) {
  open();
  for (const Slot slot : {1u, 2u, 3u}) ASSERT_TRUE(admit(slot, good_).verified.ok());
  executor().drop(2);
  executor().drop(9);  // not admitted
  EXPECT_EQ(sample({1, 2, 3}).turns.size(), 6u) << "three rounds of two";
  executor().drop(3);
  EXPECT_TRUE(is_readable(executor().descriptor())) << "the worker is to be told";
  while (is_readable(executor().descriptor(), Milliseconds(500))) EXPECT_FALSE(executor().take());
  recycle();
  EXPECT_EQ(sample({1, 2, 3}).turns.size(), 3u) << "a fresh worker does not get it again";
  executor().close(1);
  executor().close(1);
  executor().close(7);
  EXPECT_EQ(attune::admit(executor(), admission(4, good_)).verified.status, Status::cancelled);
  EXPECT_TRUE(sample({1}).turns.empty());
}

}  // namespace
}  // namespace attune
