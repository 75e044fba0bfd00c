// SPDX-License-Identifier: MIT
#include "dispatch/capture/shape_counters.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <barrier>
#include <thread>
#include <vector>

namespace attune {
namespace {

/// The trailing values have their defaults.
Key shape(int64_t m) { return {OpId::gemm_a16w16, {m, 64, 128}}; }

std::vector<size_t> usable_cores() {
  std::vector<size_t> cores;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  ::sched_getaffinity(0, sizeof mask, &mask);
  for (size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  }
  return cores;
}

void stay_on(size_t core) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(core, &mask);
  ::sched_setaffinity(0, sizeof mask, &mask);
}

uint64_t calls_of(const ShapeCounters& counters, int64_t m) {
  uint64_t found = 0;
  counters.visit([&](const ShapeCounters::CountedShape& counted) {
    if (counted.key[0] == m) found += counted.calls;
  });
  return found;
}

TEST(ShapeCounters, CountsEachShapeByItself) {
  ShapeCounters counters(10);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(counters.count(shape(1)));
  EXPECT_TRUE(counters.count(shape(2)));
  EXPECT_EQ(calls_of(counters, 1), 3u);
  EXPECT_EQ(calls_of(counters, 2), 1u);
  EXPECT_EQ(counters.num_shapes(), 2u);
}

/// Each of 16 threads has its own counts; the seventeenth shares those of the first.
TEST(ShapeCounters, NoCallIsLostWhereThreadsShareACounter) {
  const std::vector<size_t> cores = usable_cores();
  if (cores.size() < 2) GTEST_SKIP() << "one core never counts twice at the same time";
  constexpr int kThreads = 17, kRounds = 20;
  constexpr uint64_t kCalls = 20'000;
  ShapeCounters counters(10);
  std::barrier numbered(kThreads), together(2);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      // Threads get their numbers in turn; the first and the last share their counts.
      for (int turn = 0; turn < kThreads; ++turn) {
        if (turn == i) counters.count(shape(1));
        numbered.arrive_and_wait();
      }
      if (i != 0 && i != kThreads - 1) return;
      // A busy machine may put both threads on one core, where one ends before the other begins. So each has its own
      // core, and they meet before every round.
      stay_on(cores[i == 0 ? 0 : 1]);
      for (int round = 0; round < kRounds; ++round) {
        together.arrive_and_wait();
        for (uint64_t call = 0; call < kCalls; ++call) counters.count(shape(1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(calls_of(counters, 1), kThreads + 2 * kRounds * kCalls);
}

}  // namespace
}  // namespace attune
