// SPDX-License-Identifier: MIT
// Workers whose processes take long to end.
#include "worker/ending_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "base/variable.h"
#include "measure/bench.h"
#include "process/temporary_folder.h"
#include "testing/becomes_true.h"
#include "testing/worker_fixture.h"
#include "worker/sharing/shared_device.h"
#include "worker/worker_loop.h"

namespace attune {
namespace {

/// A process whose end takes long once it is killed, like the end of a process with a GPU context. A child of its own,
/// outside its process group, traces it and holds it at its exit. Works where processes may trace each other.
class SlowEnd {
 public:
  /// Variable with the path of a file; the process ends at once where it is not set.
  static constexpr const char* kVariable = "ATTUNE_SLOW_END";

  /// Call it in the process, before it has threads. From then on its end takes as many milliseconds as the file says,
  /// or until the file is gone.
  static void arrange() {
    const char* const path = variable_value(kVariable);
    if (path == nullptr) return;
    const pid_t slow = ::getpid(), tracer = ::fork();
    if (tracer == 0) {
      ::setsid();
      ::close_range(3, ~0U, 0);  // Its channel closes when the process ends.
      hold(slow, path);
    }
    ::prctl(PR_SET_PTRACER, tracer, 0, 0, 0);
    std::ofstream(held(path, slow)) << "1";  // It may be traced from now on.
    while (std::filesystem::exists(held(path, slow))) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  static std::string held(const std::string& path, pid_t slow) { return path + '.' + std::to_string(slow); }
  [[noreturn]] static void hold(pid_t slow, const std::string& path) {
    becomes_true([&] { return std::filesystem::exists(held(path, slow)); });
    const bool traces = ::ptrace(PTRACE_SEIZE, slow, nullptr, PTRACE_O_TRACEEXIT) == 0;
    std::filesystem::remove(held(path, slow));
    if (!traces) ::_exit(1);
    constexpr int kAtExit = SIGTRAP | (PTRACE_EVENT_EXIT << 8);
    for (int status = 0; ::waitpid(slow, &status, __WALL) == slow && WIFSTOPPED(status);) {
      if (status >> 8 == kAtExit) {
        wait(path);
        ::ptrace(PTRACE_DETACH, slow, nullptr, nullptr);
        break;
      }
      ::ptrace(PTRACE_CONT, slow, nullptr, WSTOPSIG(status));  // A signal is handed on.
    }
    ::_exit(0);
  }
  static void wait(const std::string& path) {
    int64_t ms = 0;
    std::ifstream(path) >> ms;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    while (std::filesystem::exists(path) && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

/// This program is its own worker, whose end takes long.
TEST(SlowEnd, DISABLED_IsThisProcess) {
  SlowEnd::arrange();
  ::_exit(run_worker(registry(), kTestBuild));
}

/// Long enough for a fresh worker to be up and to have everything.
constexpr Milliseconds kLong{1000};

class EndingWorkerTest : public WorkerExecutorTest {
 protected:
  void SetUp() override {
    WorkerExecutorTest::SetUp();
    if (!may_trace())
      GTEST_SKIP() << "a process may not trace its parent here (kernel.yama.ptrace_scope, or a filter of system calls)";
    options_.command.back() = "--gtest_filter=SlowEnd.DISABLED_IsThisProcess";
    options_.environment[SlowEnd::kVariable] = end_;
    options_.spare = true;
  }
  void TearDown() override {
    let_go();
    WorkerExecutorTest::TearDown();
  }

  /// Whether a process may trace its parent, as SlowEnd's does.
  static bool may_trace() {
    static const bool may = [] {
      ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
      const pid_t parent = ::getpid(), tracer = ::fork();
      if (tracer == 0) ::_exit(::ptrace(PTRACE_SEIZE, parent, nullptr, nullptr) == 0 ? 0 : 1);
      int status = 0;
      const bool ended = ::waitpid(tracer, &status, 0) == tracer;
      ::prctl(PR_SET_PTRACER, 0, 0, 0, 0);
      return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }();
    return may;
  }
  /// From now on the end of a worker takes this long, or until let_go().
  void hold(Milliseconds time) { std::ofstream(end_) << time.count(); }
  void let_go() { std::filesystem::remove(end_); }
  /// Opens the problem and admits a candidate. No worker may stand by: samples would wait for its start.
  void begin() {
    executor().prefetch(std::nullopt);
    ASSERT_EQ(open().refused, "");
    ASSERT_EQ(admit(1, good_).verified.status, Status::ok);
  }
  pid_t worker() { return executor().workers().processes.front(); }
  /// Whether a process is there, or was not reaped.
  static bool is_there(pid_t process) { return ::kill(process, 0) == 0; }

  const TemporaryFolder folder_{"slow-end-test"};
  const std::string end_ = folder_.path() / "end";
};

TEST_F(EndingWorkerTest, TheNextOneHasEverythingBeforeItIsGoneButTakesNoSample) {
  begin();
  const pid_t first = worker();
  hold(10 * kLong);
  recycle();
  EXPECT_NE(worker(), first);
  const auto began = std::chrono::steady_clock::now();  // Before the answer from which on waiting counts.
  EXPECT_EQ(admit(2, other_).verified.status, Status::ok);
  const TimeUse before = executor().workers().time;
  executor().begin(request::Sample{{Turn{1, 0, 1, Milliseconds(2000)}, Turn{2, 0, 1, Milliseconds(2000)}}});
  const auto end = std::chrono::steady_clock::now() + Milliseconds(200);
  while (std::chrono::steady_clock::now() < end) {
    ASSERT_FALSE(executor().take());
    is_readable(executor().descriptor(), Milliseconds(10));
  }
  EXPECT_TRUE(is_there(first));
  let_go();
  const auto answer = finish();
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<SampleAnswer>(*answer).samples.size(), 2u);
  EXPECT_FALSE(is_there(first));
  TimeUse use = executor().workers().time;
  use -= before;
  EXPECT_GE(use[Activity::start].wall_s, 0.2) << "it is time of the change";
  EXPECT_LE(use.wall_s(), std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count())
      << "and nothing else's";
}

TEST_F(EndingWorkerTest, ItIsReapedAndItsFolderRemovedBesideWhatTheNextOneDoes) {
  begin();
  const pid_t first = worker();
  const auto folder = std::filesystem::read_symlink("/proc/" + std::to_string(first) + "/cwd");
  hold(10 * kLong);
  recycle();
  EXPECT_TRUE(std::filesystem::exists(folder));
  let_go();
  EXPECT_TRUE(becomes_true([&] {
    executor().take();
    return !is_there(first);
  }));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(EndingWorkerTest, AProblemThatNeedsItsMemoryWaitsAndSoDoesTheOneThatIsToStandBy) {
  const auto info = open_device("fake:0")->info();
  const double bytes = bench_bytes(op_of(problem_), problem_, {}, info);
  // It held as much as the problem takes again: together half of the share.
  options_.device_memory_share = 4 * bytes / static_cast<double>(info.memory_bytes);
  ASSERT_EQ(open().refused, "");
  ASSERT_EQ(admit(1, good_).verified.status, Status::ok);
  hold(kLong);
  for (const bool is_ready : {false, true}) {
    SCOPED_TRACE(is_ready ? "the next one has been standing by" : "the next one is yet to start");
    const pid_t last = worker();
    bool is_crowded = false;
    attune::recycle(executor(), [&] {
      const auto all = executor().workers().processes;
      is_crowded = is_crowded || (all.size() > 1 && all.front() != last && is_there(last));
      return false;
    });
    EXPECT_FALSE(is_there(last));
    EXPECT_FALSE(is_crowded);
    EXPECT_EQ(executor().workers().processes.size(), 2u);
  }
}

TEST_F(EndingWorkerTest, WhatItHungInIsOverBeforeTheNextCandidateHasADeadline) {
  const auto once = faults_.string() + ".once";
  plant({{bad_, "sleep", "prepare", "once:" + once}});
  load_ = Milliseconds(100);
  begin();
  const pid_t first = worker();
  hold(kLong);
  EXPECT_EQ(admit(2, bad_).verified.status, Status::ok);
  std::filesystem::remove(once);
  EXPECT_FALSE(is_there(first));
  ASSERT_EQ(executor().recoveries().size(), 1u);
  EXPECT_LT(executor().recoveries()[0].worker, kLong) << "a fresh worker started meanwhile";
  EXPECT_GE(executor().recoveries()[0].everything, kLong - Milliseconds(50));
}

TEST_F(EndingWorkerTest, AProbeThatFailsBesideItDoesNotCountAgainstTheDevice) {
  const std::filesystem::path broken = folder_.path() / "broken";
  options_.environment["ATTUNE_FAKE_BROKEN_DEVICE"] = broken;
  begin();
  hold(Milliseconds(100));
  std::ofstream(broken) << "1";
  std::set<pid_t> seen = {worker()};
  // Two fail, the first of them while the last worker ends; that is as many as make a lost device. The third worker
  // opens it.
  attune::recycle(executor(), [&] {
    for (const pid_t one : executor().workers().processes) seen.insert(one);
    if (seen.size() == 4) std::filesystem::remove(broken);
    return false;
  });
  EXPECT_EQ(seen.size(), 4u);
  EXPECT_EQ(sample({1}).samples.size(), 3u);
}

TEST_F(EndingWorkerTest, ItIsGoneBeforeAnotherExecutorHasTheDevice) {
  options_.shared = std::make_shared<SharedDevice>();
  begin();
  const pid_t first = worker();
  hold(kLong);
  recycle();
  EXPECT_FALSE(is_there(first));
}

TEST_F(EndingWorkerTest, NoProcessIsLeftBehindAnExecutor) {
  begin();
  const pid_t first = worker();
  hold(Milliseconds(100));
  recycle();
  const pid_t second = worker();
  executor_.reset();
  EXPECT_FALSE(is_there(first));
  EXPECT_FALSE(is_there(second));
}

TEST_F(EndingWorkerTest, WhereNobodyStandsByItIsWaitedFor) {
  options_.spare = false;
  begin();
  const pid_t first = worker();
  hold(Milliseconds(300));
  const double before_s = executor().workers().time[Activity::start].wall_s;
  recycle();
  EXPECT_FALSE(is_there(first));
  EXPECT_GE(executor().workers().time[Activity::start].wall_s, before_s + 0.25);
}

TEST_F(WorkerExecutorTest, WhatDoesNotLoadIsTriedOnceMoreInAFreshWorker) {
  const auto once = faults_.string() + ".once";
  plant({{bad_, "throws", "prepare", "once:" + once}, {other_, "throws", "prepare", "always"}});
  open();
  EXPECT_EQ(admit(1, good_).verified.status, Status::ok);
  const auto worker = [&] { return executor().workers().processes.front(); };
  pid_t before = worker();
  EXPECT_EQ(admit(2, bad_).verified.status, Status::ok);
  EXPECT_NE(worker(), before);
  before = worker();
  const AdmitAnswer convicted = admit(3, other_);
  EXPECT_EQ(convicted.verified.status, Status::load_failed);
  EXPECT_THAT(convicted.verified.detail, testing::HasSubstr("unknown type"));
  EXPECT_NE(worker(), before);
  EXPECT_EQ(sample({1, 2}).samples.size(), 6u) << "the others are back";
  EXPECT_EQ(executor().num_deaths(), 0u);
  std::filesystem::remove(once);
}

TEST_F(WorkerExecutorTest, AMachineThatLoadsNothingCostsThreeFreshWorkers) {
  plant({{bad_, "throws", "prepare", "always"}});
  open();
  std::set<pid_t> workers;
  for (Slot slot = 1; slot <= 6; ++slot) {
    EXPECT_EQ(admit(slot, bad_).verified.status, Status::load_failed);
    workers.insert(executor().workers().processes.front());
  }
  EXPECT_EQ(workers.size(), 3u);
  EXPECT_EQ(admit(7, good_).verified.status, Status::ok);
}

}  // namespace
}  // namespace attune
