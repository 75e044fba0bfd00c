// SPDX-License-Identifier: MIT
#include "tensor/all_cores.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <thread>
#include <vector>

namespace attune {
namespace {

constexpr auto kShort = std::chrono::milliseconds(20);

TEST(AllCores, DoEachOfSeveralPartsOnceWithoutTheCaller) {
  for (const int64_t at_once : {1, 7, 1000}) {
    std::vector<std::atomic<int>> done(100);
    std::atomic<int64_t> longest = 0;
    const auto caller = std::this_thread::get_id();
    const auto work = [&](int64_t begin, int64_t end) {
      EXPECT_NE(std::this_thread::get_id(), caller);
      for (int64_t i = begin; i < end; ++i) ++done[static_cast<size_t>(i)];
      for (int64_t known = longest; end - begin > known && !longest.compare_exchange_weak(known, end - begin);)
        continue;
    };
    EXPECT_TRUE(over_all_cores(100, at_once, work, [] { return false; }));
    for (const auto& one : done) EXPECT_EQ(one, 1);
    EXPECT_LE(longest, at_once);
  }
}

TEST(AllCores, AskWhileOnePartTakesItsTimeAndBeginNoOtherAfterAYes) {
  std::atomic<int> num_parts = 0;
  int num_asked = 0;
  const auto work = [&](int64_t, int64_t) {
    ++num_parts;
    std::this_thread::sleep_for(6 * kShort);
  };
  EXPECT_FALSE(over_all_cores(1000, 1, work, [&] { return ++num_asked == 1; }));
  EXPECT_EQ(num_asked, 1) << "not again after a yes";
  EXPECT_LE(num_parts, 2 * static_cast<int>(std::thread::hardware_concurrency()));
}

TEST(AllCores, AreNoMoreThanThisThreadMayUse) {
  const auto num_parts = [] {
    std::atomic<size_t> parts = 0, others = 0;
    over_all_cores(1000, [&](int64_t, int64_t) { ++parts; });
    over_all_cores(
        1000, 1000, [&](int64_t, int64_t) { ++others; }, [] { return false; });
    EXPECT_EQ(parts, others);
    return parts.load();
  };
  const size_t all = num_parts();
  EXPECT_EQ(all, std::thread::hardware_concurrency());
  {
    const LimitedCores one(1);
    EXPECT_EQ(num_parts(), 1u);
    {
      const LimitedCores more(1000);
      EXPECT_EQ(num_parts(), all);
    }
    EXPECT_EQ(num_parts(), 1u);
    std::jthread([&] { EXPECT_EQ(num_parts(), all) << "other threads are not concerned"; });
  }
  EXPECT_EQ(num_parts(), all);
}

TEST(AllCoresDeathTest, DoTheWorkOfThreadsThatTheSystemRefuses) {
#ifdef ATTUNE_SANITIZED
  GTEST_SKIP() << "a sanitized program needs more memory than the limit";
#endif
  const auto ask = [] {
    const rlimit none{1 << 20, RLIM_INFINITY};  // No room for a stack.
    setrlimit(RLIMIT_AS, &none);
    std::atomic<int64_t> sum = 0;
    const auto add = [&](int64_t begin, int64_t end) { sum += end - begin; };
    over_all_cores(100, add);
    const bool is_done = over_all_cores(100, 7, add, [] { return false; });
    std::_Exit(is_done && sum == 200 ? 0 : 1);
  };
  EXPECT_EXIT(ask(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace attune
