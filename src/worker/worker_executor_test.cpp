// SPDX-License-Identifier: MIT
#include "worker/worker_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "device/devices.h"
#include "measure/blocking_calls.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "process/channel/frame.h"
#include "solver/registry.h"
#include "testing/worker_fixture.h"
#include "worker/announcement.h"
#include "worker/messages.h"
#include "worker/worker_loop.h"

namespace attune {
namespace {

/// This program is its own worker: it acts as one when started with this test only.
TEST(Worker, DISABLED_IsThisProcess) { ::_exit(run_worker(registry(), kTestBuild)); }

/// A damaged worker: it greets correctly and then answers every request as if something had been closed.
TEST(Worker, DISABLED_AnswersSomethingElse) {
  PageAnnouncer announcer(kWorkerAnnouncements, kWorkerChannel);
  FrameReader reader;
  std::array<std::byte, 4096> bytes{};
  for (;;) {
    const ssize_t got = ::read(kWorkerChannel, bytes.data(), bytes.size());
    if (got <= 0) ::_exit(0);
    reader.feed({bytes.data(), static_cast<size_t>(got)});
    while (const auto frame = reader.next()) {
      Reply answer = reply::Completion{};
      if (std::holds_alternative<request::Hello>(request_from(frame->payload)))
        answer = reply::Ready{open_device("fake:0")->info(), kTestBuild};
      announcer.answer();
      const std::string text = encode_frame({frame->number, to_payload(answer)});
      if (::write(kWorkerChannel, text.data(), text.size()) < 0) ::_exit(1);
    }
  }
}

TEST_F(WorkerExecutorTest, AnswersWhatAnExecutorInThisProcessAnswers) {
  const auto device = open_device("fake:0");
  LocalExecutor local(*device, registry());
  const auto opened = attune::open(local, {1, problem_, {}});
  const auto fake = [](const OpenAnswer& one) {
    return *std::find_if(one.contenders.begin(), one.contenders.end(),
                         [](const Contender& contender) { return contender.solver == "fake.gemm"; });
  };
  EXPECT_EQ(fake(open()), fake(opened));
  EXPECT_EQ(executor().device(), device->info());
  EXPECT_EQ(admit(1, good_), attune::admit(local, admission(1, good_)));
  EXPECT_EQ(admit(2, bad_).verified.status, Status::ok);
  const auto sampled = sample({1, 2});
  EXPECT_EQ(sampled.turns.size(), 6u);
  EXPECT_FALSE(sampled.interrupted);
  EXPECT_EQ(executor().num_deaths(), 0u);
}

TEST_F(WorkerExecutorTest, TellsWhatTheTimeOfAllItsWorkersWentTo) {
  open();
  admit(1, good_);
  sample({1});
  const TimeUse first = executor().workers().time;
  EXPECT_GT(first[Activity::start].wall_s, 0);
  EXPECT_GT(first[Activity::verify].busy_s, 0);
  EXPECT_GT(first[Activity::sample].busy_s, 0);
  std::this_thread::sleep_for(Milliseconds(20));
  recycle();
  const TimeUse second = executor().workers().time;
  EXPECT_GT(second[Activity::start].wall_s, first[Activity::start].wall_s) << "a fresh worker";
  EXPECT_GE(second[Activity::wait].wall_s, first[Activity::wait].wall_s + 0.02) << "the replaced one waited";
  EXPECT_GT(second[Activity::first_run].busy_s, first[Activity::first_run].busy_s) << "it has the candidate again";
  EXPECT_EQ(second[Activity::verify].busy_s, first[Activity::verify].busy_s);
}

TEST_F(WorkerExecutorTest, AnAnswerToSomethingElseIsNone) {
  options_.command.back() = "--gtest_filter=Worker.DISABLED_AnswersSomethingElse";
  executor().begin(request::Open{1, problem_, {}});
  const auto answer = finish();
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<OpenAnswer>(*answer).refused, "the worker's answer does not match the request");
  EXPECT_GT(executor().num_deaths(), 1u) << "a fresh worker is asked as well";
}

TEST_F(WorkerExecutorTest, ACandidateThatDiesTwiceIsConvictedAndNothingElseIsLost) {
  plant({{bad_, "segfault", "run", "always"}});
  open();
  EXPECT_EQ(admit(1, good_).verified.status, Status::ok);
  const auto dead = admit(2, bad_);
  EXPECT_EQ(dead.verified.status, Status::crashed);
  EXPECT_NE(dead.verified.detail.find("SEGV"), std::string::npos) << dead.verified.detail;
  EXPECT_EQ(executor().num_deaths(), 2u);
  EXPECT_EQ(sample({1}).samples.size(), 3u);
}

TEST_F(WorkerExecutorTest, WhoBreaksTheDeviceIsConvictedAndFalsifiesNobody) {
  plant({{bad_, "breaks_device", "run", "always"}, {other_, "breaks_device", "run", "from:12"}});
  open();
  EXPECT_EQ(admit(1, good_).verified.status, Status::ok);
  const auto breaking = admit(2, bad_);
  EXPECT_EQ(breaking.verified.status, Status::crashed);
  EXPECT_THAT(breaking.verified.detail, testing::HasSubstr("fake:0 stopped working"));
  EXPECT_EQ(executor().num_deaths(), 2u) << "with a second try in a worker of its own";
  ASSERT_EQ(admit(3, other_).verified.status, Status::ok);
  SampleAnswer sampled;
  for (int i = 0; i < 3 && sampled.failed.empty(); ++i) sampled = sample({1, 3}, 20);
  ASSERT_EQ(sampled.failed.size(), 1u);
  EXPECT_EQ(sampled.failed[0].first, 3u);
  EXPECT_EQ(sampled.failed[0].second.status, Status::crashed);
  EXPECT_EQ(sample({1}).samples.size(), 3u);
}

TEST_F(WorkerExecutorTest, ADeviceOnWhichTwoFreshWorkersFailTheirProbeIsLost) {
  const std::filesystem::path broken = faults_.string() + ".broken";
  options_.environment["ATTUNE_FAKE_BROKEN_DEVICE"] = broken;
  open();
  EXPECT_EQ(admit(1, good_).verified.status, Status::ok);
  std::ofstream{broken} << "1";
  try {
    admit(2, bad_);
    FAIL() << "no worker starts any more";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::device);
    EXPECT_THAT(error.what(), testing::HasSubstr("fake:0 does not work: it fails its probe"));
  }
  std::filesystem::remove(broken);
  executor_.reset();
  open();
  EXPECT_EQ(admit(1, good_).verified.status, Status::ok);
}

TEST_F(WorkerExecutorTest, ADeviceThatItsWorkerSeesUnderAnotherNameIsNamedAsUsersNameIt) {
  const std::filesystem::path broken = faults_.string() + ".broken";
  options_.environment["ATTUNE_FAKE_BROKEN_DEVICE"] = broken;
  options_.name = "fake:5";
  std::ofstream{broken} << "1";
  try {
    open();
    FAIL() << "no worker starts";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "fake:5 does not work: it fails its probe");
  }
  std::filesystem::remove(broken);
  plant({{bad_, "breaks_device", "run", "always"}});
  open();
  EXPECT_THAT(admit(2, bad_).verified.detail, testing::HasSubstr("fake:5 stopped working"));
}

TEST_F(WorkerExecutorTest, ACandidateThatHangsIsEndedAtItsDeadline) {
  plant({{bad_, "sleep", "run", "always"}, {other_, "stop", "prepare", "always"}});
  open();
  EXPECT_EQ(admit(1, bad_, Milliseconds(20)).verified.status, Status::timed_out);
  load_ = Milliseconds(20);
  EXPECT_EQ(admit(2, other_).verified.status, Status::timed_out);
}

TEST_F(WorkerExecutorTest, AWorkerWhoseMemoryWasWrittenToIsReplaced) {
  plant({{bad_, "scribble_inputs", "run", "always"}});
  open();
  admit(1, good_);
  const pid_t before = executor().workers().processes.front();
  const auto corrupting = admit(2, bad_);
  EXPECT_EQ(corrupting.verified.status, Status::wrong_result);
  EXPECT_TRUE(corrupting.corrupted);
  EXPECT_EQ(sample({1}).samples.size(), 3u);
  EXPECT_NE(executor().workers().processes.front(), before);
  EXPECT_EQ(executor().num_deaths(), 0u) << "nobody died";
}

TEST_F(WorkerExecutorTest, AnOldWorkerIsReplacedWhenNothingIsOpen) {
  options_.max_admissions = 2;
  open();
  admit(1, good_);
  admit(2, bad_);
  const pid_t before = executor().workers().processes.front();
  executor().close(1);
  open();
  EXPECT_NE(executor().workers().processes.front(), before);
}

TEST_F(WorkerExecutorTest, ADeathInOneProblemBringsTheOtherBack) {
  plant({{bad_, "segfault", "run", "always"}});
  open();
  admit(1, good_);
  const uint32_t before = sample({1}).epoch;
  EXPECT_EQ(attune::open(executor(), {2, problem_.with("m", "9"), {}}).refused, "");
  const Candidate crashing{"fake.gemm", "1", Config::parse(bad_)};
  EXPECT_EQ(attune::admit(executor(), {2, 2, {.candidate = crashing}}).verified.status, Status::crashed);
  const auto sampled = sample({1});
  EXPECT_EQ(sampled.samples.size(), 3u);
  EXPECT_NE(sampled.epoch, before);
  EXPECT_TRUE(sampled.failed.empty());
}

TEST_F(WorkerExecutorTest, AWorkerKilledFromOutsideCostsNoCandidateItsPlace) {
  open();
  admit(1, good_);
  for (int i = 0; i < 4; ++i) {
    ::kill(executor().workers().processes.front(), SIGKILL);
    const auto sampled = sample({1});
    EXPECT_TRUE(sampled.failed.empty());
    EXPECT_EQ(sampled.samples.size(), 3u);
  }
  EXPECT_EQ(executor().num_deaths(), 4u);
}

TEST_F(WorkerExecutorTest, ACandidateAnnouncedAtTwoDeathsOfAnothersDoingIsNotConvicted) {
  // Each launch takes a second, so that each kill hits the same candidate.
  plant({{bad_, "slow", "run", "from:7"}});
  options_.alone = Milliseconds(1);
  open();
  admit(1, good_);
  ASSERT_EQ(admit(2, bad_, Milliseconds(20'000)).verified.status, Status::ok);
  for (int death = 1; death <= 2; ++death) {
    const SampleAnswer sampled = sample_and_kill(2);
    EXPECT_TRUE(sampled.interrupted);
    EXPECT_TRUE(sampled.failed.empty()) << "death " << death;
  }
  EXPECT_EQ(sample({1}).samples.size(), 3u);
}

TEST_F(WorkerExecutorTest, OneThatWorkersAreKilledUnderAgainAndAgainIsUndecidedNotCrashed) {
  plant({{bad_, "slow", "run", "from:7"}});
  options_.alone = Milliseconds(1);
  open();
  admit(1, good_);
  ASSERT_EQ(admit(2, bad_, Milliseconds(20'000)).verified.status, Status::ok);
  SampleAnswer sampled;
  for (int i = 0; i < 8 && sampled.failed.empty(); ++i) {
    sampled = sample_and_kill(2);
  }
  ASSERT_EQ(sampled.failed.size(), 1u);
  EXPECT_EQ(sampled.failed[0].second.status, Status::device_lost) << sampled.failed[0].second.detail;
  EXPECT_EQ(sample({1}).samples.size(), 3u);
}

TEST_F(WorkerExecutorTest, AStoppedWorkerIsNoticedByTheLimitOfAStep) {
  options_.longest = Milliseconds(1000);
  open();
  const pid_t stopped = executor().workers().processes.front();
  ::kill(stopped, SIGSTOP);
  EXPECT_EQ(admit(1, good_).verified.status, Status::ok);
  EXPECT_NE(executor().workers().processes.front(), stopped);
  EXPECT_EQ(executor().num_deaths(), 1u);
}

TEST_F(WorkerExecutorTest, WhoScribblesOverWhatAllAreTimedWithDiesOfIt) {
  plant({{bad_, "scribble_inputs", "run", "from:6"}});
  open();
  admit(1, good_);
  // Verified in three launches, then timed in others, where all candidates share the inputs.
  const auto admitted = admit(2, bad_);
  SampleAnswer sampled;
  for (int i = 0; i < 4 && admitted.verified.ok() && sampled.failed.empty(); ++i) sampled = sample({1, 2}, 20);
  const Status status = admitted.verified.ok() ? sampled.failed.at(0).second.status : admitted.verified.status;
  EXPECT_EQ(status, Status::crashed);
  EXPECT_EQ(sample({1}).samples.size(), 3u);
}

TEST_F(WorkerExecutorTest, ASlotThatIsUsedAgainStartsWithACleanRecord) {
  const auto once = faults_.string() + ".once";
  plant({{bad_, "abort", "prepare", "once:" + once}, {other_, "abort", "run", "once:" + once + "2"}});
  open();
  EXPECT_EQ(admit(1, bad_).verified.status, Status::ok);
  executor().close(1);
  open();
  EXPECT_EQ(admit(1, other_).verified.status, Status::ok) << "its first death, not its second";
  std::filesystem::remove(once);
  std::filesystem::remove(once + "2");
}

TEST_F(WorkerExecutorTest, AFaultThatPassesIsForgiven) {
  const auto once = faults_.string() + ".once";
  plant({{bad_, "abort", "prepare", "once:" + once}});
  open();
  EXPECT_EQ(admit(1, bad_).verified.status, Status::ok);
  EXPECT_EQ(executor().num_deaths(), 1u);
  std::filesystem::remove(once);
}

TEST_F(WorkerExecutorTest, ADeathAmongSamplesVoidsThemAndBringsTheOthersBack) {
  plant({{bad_, "exit0", "run", "from:12"}});
  open();
  admit(1, good_);
  ASSERT_EQ(admit(2, bad_).verified.status, Status::ok);
  admit(3, other_);
  const uint32_t before = sample({1, 3}).epoch;
  SampleAnswer sampled = sample({1, 2, 3}, 20);
  EXPECT_TRUE(sampled.interrupted);
  EXPECT_TRUE(sampled.samples.empty());
  EXPECT_NE(sampled.epoch, before);
  for (int i = 0; i < 3 && sampled.failed.empty(); ++i) sampled = sample({1, 2, 3}, 20);
  ASSERT_EQ(sampled.failed.size(), 1u);
  EXPECT_EQ(sampled.failed[0].first, 2u);
  EXPECT_EQ(sampled.failed[0].second.status, Status::crashed);
  EXPECT_EQ(sample({1, 3}).samples.size(), 6u);
}

TEST_F(WorkerExecutorTest, ASecondTryOfAnAdmissionAcquits) {
  const auto once = faults_.string() + ".once";
  plant({{bad_, "abort", "prepare", "once:" + once}, {bad_, "exit0", "run", "from:12"}});
  open();
  ASSERT_EQ(admit(1, bad_).verified.status, Status::ok);
  EXPECT_TRUE(sample({1}, 20).failed.empty());
  EXPECT_EQ(executor().num_deaths(), 2u);
  EXPECT_EQ(sample({1}, 20).failed.size(), 1u);
  std::filesystem::remove(once);
}

TEST_F(WorkerExecutorTest, TheTimeToAFreshWorkerHoldsNoOthersDeadline) {
  plant({});
  load_ = Milliseconds(1000);
  open();
  admit(1, good_);
  ASSERT_EQ(admit(2, bad_).verified.status, Status::ok);
  plant({{bad_, "sleep", "prepare", "always"}});  // The next workers read it, and hang while they restore.
  ::kill(executor().workers().processes.front(), SIGKILL);
  EXPECT_EQ(sample({1}).samples.size(), 3u);
  const auto& recoveries = executor().recoveries();
  ASSERT_EQ(recoveries.size(), 3u);
  for (const Recovery& one : recoveries) EXPECT_LT(one.worker, load_);
  EXPECT_GE(recoveries[0].everything, 2 * load_);
  EXPECT_GE(recoveries[1].everything, load_);
  EXPECT_LT(recoveries[2].everything, load_);
}

TEST_F(WorkerExecutorTest, ADeathBeforeAnotherIsConvictedDoesNotCount) {
  plant({{bad_, "exit0", "run", "from:12"}, {other_, "exit0", "run", "from:12"}});
  open();
  ASSERT_EQ(admit(1, bad_).verified.status, Status::ok);
  ASSERT_EQ(admit(2, other_).verified.status, Status::ok);
  EXPECT_TRUE(sample({2}, 20).failed.empty());
  EXPECT_TRUE(sample({1}, 20).failed.empty());
  EXPECT_EQ(sample({1}, 20).failed.size(), 1u);
  EXPECT_TRUE(sample({2}, 20).failed.empty()) << "its first death may have been the other's doing";
  EXPECT_EQ(sample({2}, 20).failed.size(), 1u);
}

TEST_F(WorkerExecutorTest, EndsProcessesThatACandidateLeavesWhileItsWorkerLives) {
  plant({{bad_, "double_fork", "run", "always"}});
  open();
  ASSERT_EQ(admit(1, bad_).verified.status, Status::ok);
  EXPECT_EQ(strays_.kill(), 0u);
  EXPECT_EQ(executor().num_deaths(), 0u);
}

TEST_F(WorkerExecutorTest, BlamesWhoWritesToTheChannelOrClosesIt) {
  plant({{bad_, "garbage", "run", "from:12"}, {other_, "close", "run", "from:12"}});
  open();
  admit(1, good_);
  for (const auto& [slot, config] : {std::pair<Slot, std::string>{2, bad_}, {3, other_}}) {
    ASSERT_EQ(admit(slot, config).verified.status, Status::ok);
    SampleAnswer sampled;
    for (int i = 0; i < 4 && sampled.failed.empty(); ++i) sampled = sample({1, slot}, 20);
    ASSERT_EQ(sampled.failed.size(), 1u);
    EXPECT_EQ(sampled.failed[0].first, slot);
    EXPECT_EQ(sampled.failed[0].second.status, Status::crashed);
  }
}

TEST_F(WorkerExecutorTest, WhatHangsOrDiesWhenItIsGivenBackCostsNobodyElse) {
  plant({{bad_, "sleep", "unload", "always"}, {other_, "abort", "unload", "always"}});
  load_ = Milliseconds(50);
  open();
  admit(1, good_);
  ASSERT_EQ(admit(2, bad_).verified.status, Status::ok);
  ASSERT_EQ(admit(3, other_).verified.status, Status::ok);
  executor().drop(2);
  executor().drop(3);
  EXPECT_EQ(sample({1}).samples.size(), 3u);
  EXPECT_EQ(executor().num_deaths(), 1u) << "they are given back together, and the first ended the worker of both";
  // The same slots are reused; their new candidates have no record.
  ASSERT_EQ(admit(2, bad_).verified.status, Status::ok);
  ASSERT_EQ(admit(3, other_).verified.status, Status::ok);
  executor().close(1);
  const auto once = faults_.string() + ".once";
  plant({{bad_, "abort", "run", "once:" + once}});  // for the next worker
  EXPECT_EQ(open().refused, "");
  EXPECT_EQ(executor().num_deaths(), 2u) << "the first in its problem ended the worker of both";
  EXPECT_EQ(admit(2, bad_).verified.status, Status::ok);
  EXPECT_EQ(executor().num_deaths(), 3u);
  EXPECT_TRUE(sample({2}).failed.empty());
  std::filesystem::remove(once);
}

TEST_F(WorkerExecutorTest, ALibraryThatHangsWhenAWrongCandidateIsGivenBackIsEndedToo) {
  plant({{bad_, "wrong_result", "run", "always"}, {bad_, "sleep", "unload", "always"}});
  load_ = Milliseconds(50);
  open();
  EXPECT_EQ(admit(1, bad_).verified.status, Status::timed_out);
  EXPECT_EQ(executor().num_deaths(), 2u);
}

TEST_F(WorkerExecutorTest, AbortAnswersAtOnceAndLaterWorkFindsAFreshWorker) {
  plant({{bad_, "loop", "run", "always"}});
  open();
  executor().begin(admission(1, bad_, Milliseconds(0)));
  EXPECT_FALSE(executor().take()) << "it is under way";
  executor().abort();
  EXPECT_EQ(std::get<AdmitAnswer>(executor().take().value()).verified.status, Status::cancelled);
  executor().close(1);
  EXPECT_FALSE(executor().take());
  EXPECT_TRUE(executor().workers().processes.empty());
  EXPECT_EQ(open().refused, "");
}

TEST_F(WorkerExecutorTest, GivesUpWhatItMendsWhenAllIsToStop) {
  plant({{bad_, "segfault", "run", "always"}});
  bool stop = false;
  options_.stopped = [&] { return stop; };
  open();
  stop = true;
  EXPECT_EQ(admit(1, bad_).verified.status, Status::cancelled);
  EXPECT_TRUE(executor().workers().processes.empty());
  EXPECT_THROW(WorkerExecutor{options_}, Error);
}

TEST_F(WorkerExecutorTest, RefusesAWorkerOfAnotherBuildAndOneThatDoesNotStart) {
  options_.build = "another";
  EXPECT_THROW(executor(), Error);
  options_.build = kTestBuild;
  options_.device = "moon:0";
  EXPECT_THROW(executor(), Error);
  options_.device = "fake:0";
  options_.command = {"/bin/true"};
  EXPECT_THROW(executor(), Error);
}

TEST_F(WorkerExecutorTest, ARecycledWorkerHasAllThatWasOpenAndNobodyIsBlamed) {
  open();
  EXPECT_TRUE(admit(1, good_).verified.ok());
  EXPECT_TRUE(admit(2, other_).verified.ok());
  EXPECT_TRUE(admit(3, bad_).verified.ok());
  const auto before = sample({1, 2});
  const pid_t first = executor().workers().processes.front();
  executor().drop(3);
  const uint32_t epoch = recycle();
  EXPECT_NE(executor().workers().processes.front(), first);
  EXPECT_GT(epoch, before.epoch);
  const auto after = sample({1, 2});
  EXPECT_EQ(after.epoch, epoch);
  EXPECT_FALSE(after.interrupted);
  EXPECT_EQ(after.turns.size(), 6u);
  EXPECT_TRUE(after.failed.empty());
  EXPECT_EQ(executor().num_deaths(), 0u);
  EXPECT_TRUE(executor().recoveries().empty());
}

TEST_F(WorkerExecutorTest, ACandidateThatDiesInARecycledWorkerIsBlamedAsAlways) {
  plant({});
  open();
  EXPECT_TRUE(admit(1, good_).verified.ok());
  EXPECT_TRUE(admit(2, bad_).verified.ok());
  plant({{bad_, "segfault", "prepare", "always"}});  // the next workers read it
  recycle();
  EXPECT_EQ(executor().num_deaths(), 2u);
  const auto after = sample({1, 2});
  ASSERT_EQ(after.failed.size(), 1u);
  EXPECT_EQ(after.failed[0].first, 2u);
  EXPECT_EQ(after.failed[0].second.status, Status::crashed);
  EXPECT_EQ(sample({1}).turns.size(), 3u);
}

}  // namespace
}  // namespace attune
