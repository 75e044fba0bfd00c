// SPDX-License-Identifier: MIT
#include "device/host/thread_watch.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <semaphore>
#include <string>
#include <thread>

#include "device/host/host_resources.h"

namespace attune {
namespace {

/// A library's thread: works on request, otherwise sleeps.
class Worker {
 public:
  Worker() : thread_([this] { serve(); }) { wait_until_it_sleeps(); }
  ~Worker() {
    stop_ = true;
    go_.release();  // Not work(): the thread may have seen stop_ already, and then never answers.
    thread_.join();
    while (access(("/proc/self/task/" + std::to_string(id_)).c_str(), F_OK) == 0) std::this_thread::yield();
  }
  void work() {
    go_.release();
    wait_until_it_sleeps();
  }
  pid_t id() const { return id_; }

 private:
  /// Waits for a thread that has answered but still runs for a moment. On a busy machine that may last into another's
  /// turn.
  void wait_until_it_sleeps() {
    ready_.acquire();
    std::string line;
    do {
      std::ifstream file("/proc/self/task/" + std::to_string(id_) + "/stat");
      std::getline(file, line);
    } while (line.find(") S ") == std::string::npos && !line.empty());
  }
  void serve() {
    id_ = static_cast<pid_t>(syscall(SYS_gettid));
    ready_.release();
    while (!stop_) {
      go_.acquire();
      ready_.release();
    }
  }
  std::binary_semaphore go_{0}, ready_{0};
  std::atomic<bool> stop_{false};
  std::atomic<pid_t> id_{0};
  std::thread thread_;
};

int cores_of_caller() {
  cpu_set_t mask;
  sched_getaffinity(0, sizeof mask, &mask);
  return CPU_COUNT(&mask);
}

pid_t caller() { return static_cast<pid_t>(syscall(SYS_gettid)); }

TEST(ThreadWatch, PinsTheCallerToTheFirstCoreAndAPoolsThreadsToTheNext) {
  const auto cores = usable_cores();
  ThreadWatch watch(cores);
  watch.settle("pool", false);
  Worker first, second;
  first.work();
  second.work();
  watch.settle("pool", true);
  EXPECT_EQ(watch.core_of(caller()), cores[0]);
  EXPECT_EQ(watch.core_of(first.id()), cores[1 % cores.size()]);
  EXPECT_EQ(watch.core_of(second.id()), cores[2 % cores.size()]);
}

/// A kernel for 4,096 processors; a thread may use number 3000.
int large_machine(pid_t, size_t bytes, cpu_set_t* mask) {
  if (bytes < 4096 / 8) {
    errno = EINVAL;
    return -1;
  }
  std::memset(mask, 0, bytes);
  reinterpret_cast<unsigned long*>(mask)[3000 / 64] = 1UL << (3000 % 64);
  return 0;
}

TEST(ThreadWatch, KnowsTheCoreOfAThreadOnAMachineOfMoreThan1024) {
  const ThreadWatch watch({0});
  EXPECT_EQ(watch.core_of(caller(), large_machine), 3000);
}

TEST(ThreadWatch, AThreadStartedBeforeBelongsToThePoolItFirstWorksFor) {
  const auto cores = usable_cores();
  if (cores.size() < 2) GTEST_SKIP() << "one core: every thread is on it";
  Worker early, other;
  ThreadWatch watch(cores);
  if (!watch.has_schedstat()) GTEST_SKIP() << "no schedstat";
  watch.settle("a", false);
  early.work();
  watch.settle("a", true);
  EXPECT_EQ(watch.core_of(early.id()), cores[1]);
  EXPECT_EQ(watch.core_of(other.id()), std::nullopt);
  watch.settle("b", false);
  other.work();
  watch.settle("b", true);
  EXPECT_EQ(watch.core_of(other.id()), cores[1]) << "the first worker of its own pool";
}

TEST(ThreadWatch, LetsTheCallerUseAllCoresUntilSettledAndAfterwards) {
  const auto cores = usable_cores();
  {
    ThreadWatch watch(cores);
    watch.settle("pool", true);
    EXPECT_EQ(cores_of_caller(), 1);
    watch.settle("pool", false);
    EXPECT_EQ(cores_of_caller(), static_cast<int>(cores.size()));
    watch.settle("pool", true);
  }
  EXPECT_EQ(cores_of_caller(), static_cast<int>(cores.size()));
}

TEST(ThreadWatch, ThatPinnedNothingLeavesTheCallerItsCores) {
  const auto cores = usable_cores();
  if (cores.size() < 2) GTEST_SKIP() << "one core: it cannot be changed";
  { const ThreadWatch watch(std::vector<int>{cores[0]}); }
  EXPECT_EQ(cores_of_caller(), static_cast<int>(cores.size()));
  {
    ThreadWatch watch(std::vector<int>{cores[0]});
    watch.settle("pool", true);
    EXPECT_EQ(cores_of_caller(), 1);
  }
  EXPECT_EQ(cores_of_caller(), static_cast<int>(cores.size())) << "its own, not those of the watch";
}

TEST(ThreadWatch, ANewThreadTakesThePlaceOfOneThatEnded) {
  const auto cores = usable_cores();
  ThreadWatch watch(cores);
  for (int i = 0; i < 3; ++i) {
    watch.settle("pool", false);
    Worker worker;
    worker.work();
    watch.settle("pool", true);
    EXPECT_EQ(watch.core_of(worker.id()), cores[1 % cores.size()]) << i;
  }
}

TEST(ThreadWatch, WaitsForAnotherPoolsSpinningThread) {
  ThreadWatch watch(usable_cores());
  std::atomic<bool> resting{false};
  std::binary_semaphore running{0}, end{0};
  std::thread spinner([&] {
    running.release();
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
    while (std::chrono::steady_clock::now() < until) continue;
    resting = true;
    end.acquire();
  });
  running.acquire();
  const auto begin = std::chrono::steady_clock::now();
  watch.settle("other", false);
  // On a busy machine the spinner may not end within the longest waiting time.
  constexpr std::chrono::milliseconds kLongest(5);
  EXPECT_TRUE(resting || std::chrono::steady_clock::now() - begin >= kLongest);
  end.release();
  spinner.join();
}

TEST(ThreadWatch, SeesAThreadOfThePoolThatWaitsForItsCore) {
  const auto cores = usable_cores();
  ThreadWatch watch(cores);
  if (!watch.has_schedstat()) GTEST_SKIP() << "no schedstat";
  watch.settle("pool", true);
  watch.begin_watch();
  std::atomic<bool> stop{false};
  // The thread inherits the caller's single core: the two share it.
  std::thread rival([&] {
    while (!stop) continue;
  });
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(25);
  while (std::chrono::steady_clock::now() < until) continue;
  const double delay_ratio = watch.end_watch().delay_ratio;
  stop = true;
  rival.join();
  EXPECT_GT(delay_ratio, 0.02);
}

TEST(ThreadWatch, TellsThatAThreadStillRunsAfterTheTimeToRest) {
  ThreadWatch watch(usable_cores());
  watch.settle("a", false);
  EXPECT_TRUE(watch.await_rest());
  EXPECT_FALSE(watch.others_ran());
  std::atomic<bool> stop{false}, runs{false};
  std::thread left([&] {
    while (!stop) runs = true;
  });
  while (!runs) std::this_thread::yield();
  // On a busy machine the thread may get no time just then.
  const auto is_seen = [](const auto& looks) {
    for (int i = 0; i < 100; ++i) {
      if (looks()) return true;
    }
    return false;
  };
  EXPECT_TRUE(is_seen([&] { return !watch.await_rest(); }));
  watch.settle("a", false);
  EXPECT_FALSE(watch.others_ran()) << "it waits before another pool's turn only";
  EXPECT_TRUE(is_seen([&] {
    watch.settle("b", false);
    watch.settle("a", false);
    return watch.others_ran();
  }));
  stop = true;
  left.join();
  EXPECT_TRUE(watch.await_rest());
  watch.settle("c", false);
  EXPECT_FALSE(watch.others_ran());
}

}  // namespace
}  // namespace attune
