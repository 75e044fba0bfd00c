// SPDX-License-Identifier: MIT
#include "worker/worker_executor.h"

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
#include "solver/registry.h"
#include "testing/poll_loop.h"
#include "worker/announcement.h"
#include "worker/frame.h"
#include "worker/messages.h"
#include "worker/worker_loop.h"

namespace attune {
namespace {

constexpr const char* kBuild = "test";

/// This program is its own worker: it acts as one when started with this test only.
TEST(Worker, DISABLED_IsThisProcess) { ::_exit(run_worker(registry(), kBuild)); }

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
      Reply answer = reply::Done{};
      if (std::holds_alternative<request::Hello>(request_from(frame->payload)))
        answer = reply::Ready{open_device("fake:0")->info(), kBuild};
      announcer.answer();
      const std::string text = encode_frame({frame->number, to_payload(answer)});
      if (::write(kWorkerChannel, text.data(), text.size()) < 0) ::_exit(1);
    }
  }
}

class WorkerExecutorTest : public testing::Test {
 protected:
  void SetUp() override {
    faults_ = std::filesystem::temp_directory_path() / fmt::format("attune-worker-test-{}", ::getpid());
    options_.command = {"/proc/self/exe", "--gtest_also_run_disabled_tests",
                        "--gtest_filter=Worker.DISABLED_IsThisProcess"};
    options_.build = kBuild;
    options_.device = "fake:0";
    // No modules, because each worker would open them again.
    options_.environment = {{"ATTUNE_MODULES", "/nowhere"}, {"PATH", "/usr/bin"}};
    options_.strays = &strays_;
    problem_ = op_of(problem_).normalise(problem_, {});
  }
  void TearDown() override { std::filesystem::remove(faults_); }

  /// Fault lines as described in src/solvers/fake/README.md: config, fault, step, when.
  void plant(std::initializer_list<std::array<std::string, 4>> lines) {
    std::ofstream file(faults_);
    for (const auto& line : lines)
      file << "*\t" << line[0] << '\t' << line[1] << '\t' << line[2] << '\t' << line[3] << '\n';
    options_.environment["ATTUNE_FAKE_FAULTS"] = faults_;
  }
  WorkerExecutor& executor() {
    if (!executor_) executor_ = std::make_unique<WorkerExecutor>(options_);
    return *executor_;
  }
  Opened open() { return attune::open(executor(), {1, problem_, {}}); }
  request::Admit admission(Slot slot, const std::string& config, Milliseconds run = Milliseconds(2000)) const {
    const Candidate candidate{"fake.gemm", "1", Config::parse(config)};
    return {1, slot, {.candidate = candidate, .twice = true, .limits = {load_, run}}};
  }
  Admitted admit(Slot slot, const std::string& config, Milliseconds run = Milliseconds(2000)) {
    return attune::admit(executor(), admission(slot, config, run));
  }
  Sampled sample(std::initializer_list<Slot> slots, uint32_t rounds = 3) {
    std::vector<Turn> schedule;
    for (uint32_t round = 0; round < rounds; ++round) {
      for (const Slot slot : slots) schedule.push_back({slot, round, 1, Milliseconds(2000)});
    }
    return attune::sample(executor(), {schedule});
  }
  uint32_t recycle() { return attune::recycle(executor()).epoch; }
  template <typename Wanted>
  Wanted aborted(Request request) {
    executor().begin(std::move(request));
    executor().abort();
    EXPECT_TRUE(is_readable(executor().descriptor()));
    return std::get<Wanted>(executor().take().value());
  }

  /// Kills the worker in the middle of slow launches.
  Sampled sample_and_kill(Slot slot) {
    executor().begin(request::Sample{{Turn{slot, 0, 6, Milliseconds(20'000)}}});
    EXPECT_FALSE(executor().take());
    EXPECT_FALSE(is_readable(executor().descriptor(), Milliseconds(200))) << "it is under way";
    ::kill(executor().processes().front(), SIGKILL);
    return std::get<Sampled>(finish().value());
  }
  /// Waits for the answer to the outstanding request; nothing if the executor says nothing for ten seconds.
  std::optional<Answer> finish() {
    std::optional<Answer> answer;
    while (!answer && is_readable(executor().descriptor(), Milliseconds(10'000))) answer = executor().take();
    return answer;
  }

  const std::string good_ = "split_k=1;tile_m=64;tile_n=64", bad_ = "split_k=1;tile_m=16;tile_n=16",
                    other_ = "split_k=1;tile_m=32;tile_n=32";
  Problem problem_ = Problem::parse("gemm_a16w16 m=8 n=16 k=16 dtype=fp32");
  std::filesystem::path faults_;
  Milliseconds load_{2000};
  Strays strays_;
  WorkerOptions options_;
  std::unique_ptr<WorkerExecutor> executor_;
};

TEST_F(WorkerExecutorTest, AnswersWhatAnExecutorInThisProcessAnswers) {
  const auto device = open_device("fake:0");
  LocalExecutor local(*device, registry());
  const auto opened = attune::open(local, {1, problem_, {}});
  const auto fake = [](const Opened& one) {
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

TEST_F(WorkerExecutorTest, AnAnswerToSomethingElseIsNone) {
  options_.command.back() = "--gtest_filter=Worker.DISABLED_AnswersSomethingElse";
  EXPECT_EQ(open().refused, "the worker's answer does not match the request");
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
  const pid_t before = executor().processes().front();
  const auto corrupting = admit(2, bad_);
  EXPECT_EQ(corrupting.verified.status, Status::wrong_result);
  EXPECT_TRUE(corrupting.corrupted);
  EXPECT_EQ(sample({1}).samples.size(), 3u);
  EXPECT_NE(executor().processes().front(), before);
  EXPECT_EQ(executor().num_deaths(), 0u) << "nobody died";
}

TEST_F(WorkerExecutorTest, AnOldWorkerIsReplacedWhenNothingIsOpen) {
  options_.max_admissions = 2;
  open();
  admit(1, good_);
  admit(2, bad_);
  const pid_t before = executor().processes().front();
  executor().close(1);
  open();
  EXPECT_NE(executor().processes().front(), before);
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
    ::kill(executor().processes().front(), SIGKILL);
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
    const Sampled sampled = sample_and_kill(2);
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
  Sampled sampled;
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
  const pid_t stopped = executor().processes().front();
  ::kill(stopped, SIGSTOP);
  EXPECT_EQ(admit(1, good_).verified.status, Status::ok);
  EXPECT_NE(executor().processes().front(), stopped);
  EXPECT_EQ(executor().num_deaths(), 1u);
}

TEST_F(WorkerExecutorTest, WhoScribblesOverWhatAllAreTimedWithDiesOfIt) {
  plant({{bad_, "scribble_inputs", "run", "from:6"}});
  open();
  admit(1, good_);
  // Verified in three launches, then timed in others, where all candidates share the inputs.
  const auto admitted = admit(2, bad_);
  Sampled sampled;
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
  Sampled sampled = sample({1, 2, 3}, 20);
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
    Sampled sampled;
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
  EXPECT_EQ(executor().num_deaths(), 2u);
  // The same slots are reused; their new candidates have no record.
  ASSERT_EQ(admit(2, bad_).verified.status, Status::ok);
  ASSERT_EQ(admit(3, other_).verified.status, Status::ok);
  executor().close(1);
  const auto once = faults_.string() + ".once";
  plant({{bad_, "abort", "run", "once:" + once}});  // for the next worker
  EXPECT_EQ(open().refused, "");
  EXPECT_EQ(executor().num_deaths(), 3u) << "the first in its problem ended the worker of both";
  EXPECT_EQ(admit(2, bad_).verified.status, Status::ok);
  EXPECT_EQ(executor().num_deaths(), 4u);
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
  EXPECT_EQ(std::get<Admitted>(executor().take().value()).verified.status, Status::cancelled);
  executor().close(1);
  EXPECT_FALSE(executor().take());
  EXPECT_TRUE(executor().processes().empty());
  EXPECT_EQ(open().refused, "");
}

TEST_F(WorkerExecutorTest, GivesUpWhatItMendsWhenAllIsToStop) {
  plant({{bad_, "segfault", "run", "always"}});
  bool stop = false;
  options_.stopped = [&] { return stop; };
  open();
  stop = true;
  EXPECT_EQ(admit(1, bad_).verified.status, Status::cancelled);
  EXPECT_TRUE(executor().processes().empty());
  EXPECT_THROW(WorkerExecutor{options_}, Error);
}

TEST_F(WorkerExecutorTest, RefusesAWorkerOfAnotherBuildAndOneThatDoesNotStart) {
  options_.build = "another";
  EXPECT_THROW(executor(), Error);
  options_.build = kBuild;
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
  const pid_t first = executor().processes().front();
  executor().drop(3);
  const uint32_t epoch = recycle();
  EXPECT_NE(executor().processes().front(), first);
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

TEST_F(WorkerExecutorTest, AnAbortedRecycleIsAnswered) {
  open();
  const uint32_t before = recycle();
  EXPECT_GT(aborted<Recycled>(request::Recycle{}).epoch, before);
  EXPECT_TRUE(executor().processes().empty()) << "no worker was started";
}

TEST_F(WorkerExecutorTest, EveryAbortedRequestIsAnswered) {
  EXPECT_EQ(aborted<Opened>(request::Open{1, problem_, {}}), (Opened{.problem = 1, .refused = "the run was stopped"}));
  open();
  EXPECT_EQ(aborted<Admitted>(admission(2, good_)).verified.status, Status::cancelled);
  open();
  EXPECT_TRUE(aborted<Sampled>(request::Sample{{{.slot = 2}}}).interrupted);
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
  EXPECT_EQ(std::get<Sampled>(*answer).turns.size(), 1u);
  EXPECT_FALSE(is_readable(executor().descriptor(), Milliseconds(50)));
}

TEST_F(WorkerExecutorTest, IsWaitedForBesideOtherThingsInOnePoll) {
  plant({{bad_, "slow", "run", "always"}});
  const Pipe pipe;
  int num_bytes = 0;
  executor().begin(request::Open{1, problem_, {}});
  auto answer = answer_beside(executor(), pipe, [] {});
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<Opened>(*answer).refused, "");
  for (int i = 0; i < 3; ++i) pipe.put();
  executor().begin(admission(1, bad_, Milliseconds(0)));
  answer = answer_beside(executor(), pipe, [&] {
    if (++num_bytes == 3) executor().abort();  // as after a signal
  });
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<Admitted>(*answer).verified.status, Status::cancelled);
  EXPECT_EQ(num_bytes, 3);
}

TEST_F(WorkerExecutorTest, AnIdleWorkerThatIsKilledWakesNobody) {
  open();
  ::kill(executor().processes().front(), SIGKILL);
  EXPECT_FALSE(is_readable(executor().descriptor(), Milliseconds(100)));
  EXPECT_TRUE(admit(1, good_).verified.ok());
}

TEST_F(WorkerExecutorTest, AnAnswerThatCameInTimeCountsHoweverLateItIsTaken) {
  options_.longest = Milliseconds(1000);
  open();
  executor().begin(admission(1, good_));
  EXPECT_FALSE(executor().take());
  std::this_thread::sleep_for(Milliseconds(1500));
  const auto answer = executor().take();
  ASSERT_TRUE(answer);
  EXPECT_TRUE(std::get<Admitted>(*answer).verified.ok());
  EXPECT_EQ(executor().num_deaths(), 0u);
}

TEST_F(WorkerExecutorTest, WhatIsDroppedOrClosedIsGoneForEverybody) {
  open();
  for (const Slot slot : {1u, 2u, 3u}) ASSERT_TRUE(admit(slot, good_).verified.ok());
  executor().drop(2);
  executor().drop(9);  // nobody
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
