// SPDX-License-Identifier: MIT
#include "dispatch/online/online_tuning.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <thread>

#include "attune/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/csv/shape_list.h"
#include "process/temporary_folder.h"
#include "testing/no_reaping.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

DeviceInfo device() {
  DeviceInfo info;
  info.id = "fake:0";
  info.gfx = "a/b";
  info.num_units = 4;
  return info;
}

Problem shape(int m, std::string_view op = "gemm_a16w16") {
  return Problem::parse(std::string(op) + " m=" + std::to_string(m) + " n=32 k=48 dtype=fp32 outdtype=fp32 bias=0");
}

const FamilySpec& bf16() { return *find_family("gemm_a16w16"); }

class OnlineTuningTest : public testing::Test {
 protected:
  /// Writes a script that replaces the tuning program; `$Q` is the queue's folder.
  fs::path program(const std::string& script) const {
    const fs::path file = root_ / "program";
    std::ofstream(file) << "#!/bin/sh\nQ='" << queue().folder().string() << "'\n" << script;
    fs::permissions(file, fs::perms::owner_all);
    return file;
  }
  OnlineQueue queue() const { return {root_, device()}; }
  fs::path list() const { return queue().file(bf16()); }
  OnlineTuning tuning(const std::string& script, milliseconds pause = milliseconds(0)) const {
    return OnlineTuning({.program = program(script), .state = root_, .device = device(), .pause = pause});
  }
  /// Polls until `met`; returns the sentences.
  template <typename Met>
  std::vector<std::string> poll_until(OnlineTuning& tuning, Met met) const {
    std::vector<std::string> messages;
    for (int i = 0; i < 4000; ++i) {
      for (std::string& one : tuning.poll()) messages.push_back(std::move(one));
      if (met()) return messages;
      std::this_thread::sleep_for(milliseconds(1));
    }
    ADD_FAILURE() << "nothing of the kind within 4 s";
    return messages;
  }
  std::string word(const char* name) const {
    return fs::exists(root_ / name) ? std::string(trim(read_file(root_ / name))) : std::string();
  }

  TemporaryFolder folder_{"online-test"};
  fs::path root_ = folder_.path();
};

TEST_F(OnlineTuningTest, AWantedShapeIsQueuedAndTheProgramIsStartedForIt) {
  auto online = tuning(
      "echo \"$@\" >$Q/../../words.new; echo $ATTUNE_HOME >$Q/../../home; ls /proc/self/fd | wc -l "
      ">$Q/../../files\nmv $Q/../../words.new $Q/../../words; rm $Q/*.csv\n");
  online.want(shape(3));
  online.want(shape(3));
  online.want(shape(4));
  EXPECT_EQ(online.poll(), std::vector<std::string>());
  EXPECT_TRUE(online.is_running());
  EXPECT_EQ(poll_until(online, [&] { return !online.is_running(); }), std::vector<std::string>());
  EXPECT_EQ(word("words"), "online --device fake:0 --background");
  EXPECT_EQ(word("home"), root_.string());
  EXPECT_EQ(word("files"), "4") << "its three streams, and the folder that ls reads";
  EXPECT_FALSE(queue().is_waiting());
}

TEST_F(OnlineTuningTest, AProgramThatHasToLeaveTheDeviceAloneIsToldSo) {
  OnlineTuning online({.program = program("echo \"$@\" >$Q/../../words; rm $Q/*.csv\n"),
                       .state = root_,
                       .device = device(),
                       .shares_device = false,
                       .pause = milliseconds(0)});
  online.want(shape(3));
  poll_until(online, [&] { return !queue().is_waiting() && !online.is_running(); });
  EXPECT_EQ(word("words"), "online --device fake:0 --background --unused");
}

/// A GPU may become free, so it is looked for again and again, and nobody wants to read that each time.
TEST_F(OnlineTuningTest, ThatThereIsNoDeviceIsSaidOnceAndIsNoFailure) {
  auto online = tuning(
      "echo x >>$Q/starts; if [ $(wc -l <$Q/starts) -lt 6 ]; then echo no device is free >&2; exit 75; fi\n"
      "rm $Q/*.csv\n",
      milliseconds(1));
  online.want(shape(3));
  EXPECT_EQ(poll_until(online, [&] { return !queue().is_waiting() && !online.is_running(); }),
            std::vector<std::string>{"online tuning waits: no device is free"});
}

TEST_F(OnlineTuningTest, ShapesThatWaitForMemoryAreNoFailure) {
  auto online = tuning(
      "echo x >>$Q/starts; if [ $(wc -l <$Q/starts) -lt 6 ]; then exit 76; fi\n"
      "rm $Q/*.csv\n",
      milliseconds(1));
  online.want(shape(3));
  EXPECT_EQ(poll_until(online, [&] { return !queue().is_waiting() && !online.is_running(); }),
            std::vector<std::string>());
}

TEST_F(OnlineTuningTest, TheDeviceIsThatOfTheFirstShape) {
  auto online =
      tuning("mkdir -p $Q; echo \"$@\" >$Q/../../words.new; mv $Q/../../words.new $Q/../../words; rm $Q/../*/*.csv\n");
  DeviceInfo limited = device();
  limited.kind = "host";
  limited.num_units = 2;
  online.tune_for(limited);
  online.want(shape(3));
  online.tune_for(device());
  online.want(shape(4));
  online.poll();
  EXPECT_FALSE(queue().is_waiting());
  poll_until(online, [&] { return !online.is_running(); });
  EXPECT_EQ(word("words"), "online --device fake:0 --background --threads 2");
}

TEST_F(OnlineTuningTest, TheQueueHoldsEachShapeOnceWhoeverAddsIt) {
  auto one = tuning("exec sleep 5\n", milliseconds(60'000)), other = tuning("exec sleep 5\n", milliseconds(60'000));
  one.want(shape(3));
  other.want(shape(3));
  other.want(shape(4));
  one.poll();
  other.poll();
  EXPECT_EQ(read_shapes(list()).shapes.size(), 2u);
  EXPECT_EQ(fs::status(list()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(OnlineTuningTest, NothingIsStartedWhileNothingWaitsOrOneIsRunning) {
  auto online = tuning("echo x >>$Q/starts; exec sleep 5\n");
  online.poll();
  EXPECT_FALSE(online.is_running());
  EXPECT_FALSE(fs::exists(root_ / "online")) << "no file is touched before a shape is missed";
  online.want(shape(3));
  poll_until(online, [&] { return fs::exists(queue().folder() / "starts"); });
  online.want(shape(4));
  online.poll();
  online.poll();
  EXPECT_EQ(read_file(queue().folder() / "starts"), "x\n");
  EXPECT_EQ(read_shapes(list()).shapes.size(), 2u);
}

TEST_F(OnlineTuningTest, ShapesThatAProgramLeftHaveItStartedAgainAfterThePause) {
  auto online = tuning("echo x >>$Q/starts; test -f $Q/again && rm $Q/*.csv; touch $Q/again\n", milliseconds(1));
  online.want(shape(3));
  const auto messages = poll_until(online, [&] { return !online.is_running() && !queue().is_waiting(); });
  EXPECT_EQ(read_file(queue().folder() / "starts"), "x\nx\n");
}

TEST_F(OnlineTuningTest, AFailureIsSaidWithItsLastWordsAndAfterThreeItIsGivenUp) {
  auto online = tuning("echo first; echo 'no such library' >&2; echo x >>$Q/starts; exit 3\n");
  online.want(shape(3));
  std::vector<std::string> messages;
  while (messages.size() < 3) {
    for (auto& one : poll_until(online, [&] { return !online.is_running(); })) messages.push_back(std::move(one));
  }
  EXPECT_EQ(messages[0], "attune online exited with status 3: no such library; it is started again later, its log: '" +
                             (root_ / "online" / "log.txt").string() + "'");
  EXPECT_NE(messages[2].find("online tuning stops"), std::string::npos) << messages[2];
  EXPECT_EQ(online.poll(), std::vector<std::string>());
  EXPECT_FALSE(online.is_running());
  EXPECT_EQ(read_file(queue().folder() / "starts"), "x\nx\nx\n");
}

TEST_F(OnlineTuningTest, AKilledProgramIsAFailureAndTheNextWaitsLonger) {
  auto online = tuning("kill -9 $$\n", milliseconds(60'000));
  online.want(shape(3));
  online.poll();
  const auto messages = poll_until(online, [&] { return !online.is_running(); });
  ASSERT_EQ(messages.size(), 1u);
  // With much memory in use, the end is attributed to the kernel.
  EXPECT_TRUE(messages[0].find("was killed by SIGKILL") != std::string::npos ||
              messages[0].find("killed") != std::string::npos)
      << messages[0];
  online.want(shape(4));
  online.poll();
  EXPECT_FALSE(online.is_running());
  EXPECT_EQ(read_shapes(list()).shapes.size(), 2u) << "what is missed is queued all the same";
}

TEST_F(OnlineTuningTest, WhereNobodyIsReapedItsLastWordsSayThatItFailed) {
  const NoReaping ignored;
  auto online = tuning("echo x >>$Q/starts; echo 'no such library' >&2; exit 3\n");
  online.want(shape(3));
  std::vector<std::string> messages;
  while (messages.size() < 3) {
    for (auto& one : poll_until(online, [&] { return !online.is_running(); })) messages.push_back(std::move(one));
  }
  EXPECT_EQ(messages[0].find("attune online ended: no such library; it is started again"), 0u) << messages[0];
  EXPECT_EQ(read_file(queue().folder() / "starts"), "x\nx\nx\n");
}

TEST_F(OnlineTuningTest, WhereNobodyIsReapedOneThatSaysNothingHasDoneItsWork) {
  const NoReaping ignored;
  auto online = tuning("rm $Q/*.csv\n");
  online.want(shape(3));
  EXPECT_EQ(poll_until(online, [&] { return !online.is_running() && !queue().is_waiting(); }),
            std::vector<std::string>());
}

TEST_F(OnlineTuningTest, AProgramThatCannotBeRunIsAFailure) {
  OnlineTuning online({.program = root_ / "nowhere", .state = root_, .device = device()});
  online.want(shape(3));
  const auto messages = online.poll();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("cannot run the program"), std::string::npos) << messages[0];
}

TEST_F(OnlineTuningTest, TheEndStopsTheProgramWithoutWaitingAndNothingComesAfterIt) {
  auto online = tuning(
      "trap 'echo stopped >$Q/new; mv $Q/new $Q/end; exit 0' TERM; touch $Q/ready\n"
      "while :; do sleep 0.001; done\n");
  online.want(shape(3));
  poll_until(online, [&] { return fs::exists(queue().folder() / "ready"); });
  online.end();
  EXPECT_FALSE(online.is_running());
  online.want(shape(4));
  online.poll();
  EXPECT_FALSE(online.is_running());
  for (int i = 0; i < 4000 && !fs::exists(queue().folder() / "end"); ++i) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(word(("online/" + queue().folder().filename().string() + "/end").c_str()), "stopped");
  // A later object reaps the program.
  auto next = tuning("exit 0\n", milliseconds(60'000));
  for (int i = 0; i < 4000; ++i) {
    next.poll();
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD) return;
    std::this_thread::sleep_for(milliseconds(1));
  }
  ADD_FAILURE() << "a zombie is left";
}

TEST_F(OnlineTuningTest, AForkedChildStartsAndStopsNothing) {
  auto online = tuning("exec sleep 5\n", milliseconds(60'000));
  online.want(shape(3));
  online.poll();
  const pid_t fork = ::fork();
  if (fork == 0) {
    online.want(shape(4));
    const bool quiet = online.poll().empty();
    online.end();
    ::_exit(quiet ? 0 : 1);
  }
  int word = 0;
  ASSERT_EQ(::waitpid(fork, &word, 0), fork);
  EXPECT_EQ(word, 0);
  EXPECT_EQ(read_shapes(list()).shapes.size(), 1u);
  std::this_thread::sleep_for(milliseconds(30));  // A program told to stop would have ended by now.
  online.poll();
  EXPECT_TRUE(online.is_running());
}

TEST_F(OnlineTuningTest, AForkedChildDoesNotStartWhatItsParentWouldHave) {
  auto online = tuning("touch $Q/started\n");
  online.want(shape(3));
  const pid_t fork = ::fork();
  if (fork == 0) {
    const bool quiet = online.poll().empty();
    ::_exit(quiet && !online.is_running() ? 0 : 1);
  }
  int word = 0;
  ASSERT_EQ(::waitpid(fork, &word, 0), fork);
  EXPECT_EQ(word, 0);
  EXPECT_FALSE(queue().is_waiting());
}

TEST_F(OnlineTuningTest, MoreShapesThanItTakesAreSkippedAndReportedOnce) {
  auto online = tuning("exit 0\n", milliseconds(60'000));
  for (int m = 1; m <= static_cast<int>(OnlineTuning::kMaxShapes); ++m) online.want(shape(m));
  EXPECT_EQ(online.poll(), std::vector<std::string>());
  online.want(shape(1));
  EXPECT_EQ(online.poll(), std::vector<std::string>()) << "one that it knows";
  online.want(shape(5000));
  online.want(shape(5001));
  EXPECT_EQ(online.poll().size(), 1u);
  EXPECT_EQ(online.poll(), std::vector<std::string>());
  EXPECT_EQ(read_shapes(list()).shapes.size(), OnlineTuning::kMaxShapes);
}

TEST_F(OnlineTuningTest, FamiliesThatCannotBeTunedAreNotQueued) {
  auto online = tuning("exit 0\n");
  online.want(Problem::parse("fmoe token=1"));
  online.want(Problem::parse("nothing m=1"));
  EXPECT_EQ(online.poll(), std::vector<std::string>());
  EXPECT_FALSE(queue().is_waiting());
}

TEST_F(OnlineTuningTest, AQueueThatCannotBeWrittenIsSaidOnceAndTriedAgain) {
  std::ofstream(root_ / "online") << "in the way";
  auto online = tuning("exit 0\n");
  online.want(shape(3));
  EXPECT_EQ(online.poll().size(), 1u);
  EXPECT_EQ(online.poll(), std::vector<std::string>());
  fs::remove(root_ / "online");
  EXPECT_EQ(online.poll(), std::vector<std::string>());
  EXPECT_TRUE(queue().is_waiting());
}

TEST_F(OnlineTuningTest, DevicesOfOtherTablesHaveQueuesOfTheirOwn) {
  DeviceInfo smaller = device();
  smaller.num_units = 2;
  EXPECT_NE(OnlineQueue(root_, smaller).folder(), queue().folder());
  EXPECT_EQ(queue().folder(), root_ / "online" / "fake_0-a_b-4");
}

TEST_F(OnlineTuningTest, WhatIsRemovedFromTheQueueLeavesTheRestAsItStands) {
  queue().add(bf16(), std::vector{shape(3), shape(4), shape(5)});
  const std::string before = read_file(list());
  std::ofstream(list(), std::ios::app) << "what,is,this\n";
  const auto waiting = queue().read();
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0].problems.size(), 3u);
  ASSERT_EQ(waiting[0].notices.size(), 1u);
  EXPECT_NE(waiting[0].notices[0].find(list().string() + ":5"), std::string::npos) << waiting[0].notices[0];
  queue().remove(bf16(), {});
  EXPECT_EQ(read_file(list()), before) << "the line that is none has gone";
  queue().remove(bf16(), std::vector{waiting[0].problems[1], waiting[0].problems[0]});
  EXPECT_EQ(read_shapes(list()).shapes.at(0).problem.integer("m"), 5);
  queue().remove(bf16(), waiting[0].problems);
  EXPECT_FALSE(queue().is_waiting());
}

TEST_F(OnlineTuningTest, AQueueThatIsNoListIsMovedAway) {
  fs::create_directories(queue().folder());
  std::ofstream(list()) << "\"torn";
  EXPECT_EQ(queue().read().at(0).notices.size(), 1u);
  queue().remove(bf16(), {});
  EXPECT_FALSE(queue().is_waiting());
  EXPECT_EQ(read_file(list().string() + ".bad"), "\"torn");
}

}  // namespace
}  // namespace attune
