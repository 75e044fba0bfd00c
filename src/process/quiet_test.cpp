// SPDX-License-Identifier: MIT
#include "process/quiet.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace attune {
namespace {

constexpr std::string_view kStat =
    "cpu  900 0 90 9000 10 0 0 7 0 0\n"
    "cpu0 100 1 20 800 5 3 4 99 50 0\n"
    "cpu1 200 0 0 700 0 0 0 0 0 0\n"
    "cpu2 600 0 0 0 0 0 0 0 0 0\n"
    "intr 1 2 3\n";

TEST(Quiet, ReadsTheProcessorsGivenAndLeavesStolenTimeOut) {
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const CpuTimes times = parse_cpu_times(kStat, std::array{0, 1});
  EXPECT_TRUE(times.known);
  EXPECT_NEAR(times.busy_s, (128 + 200) * tick, 1e-9);
  EXPECT_NEAR(times.elapsed_s, (933 + 900) * tick, 1e-9);
  EXPECT_FALSE(parse_cpu_times("nonsense\n", std::array{0}).known);
}

TEST(Quiet, TheShareIsOfOthersOnly) {
  const CpuTimes before = {.elapsed_s = 10, .busy_s = 4, .own_s = 1, .known = true};
  EXPECT_DOUBLE_EQ(others_share(before, {.elapsed_s = 12, .busy_s = 5.5, .own_s = 2, .known = true}), 0.25);
  EXPECT_DOUBLE_EQ(others_share(before, {.elapsed_s = 12, .busy_s = 4.5, .own_s = 2, .known = true}), 0)
      << "ticks are coarse";
  EXPECT_DOUBLE_EQ(others_share(before, before), 0);
  EXPECT_DOUBLE_EQ(others_share({}, {}), 0);
}

/// A machine with one processor whose load by others is given window by window.
struct Script {
  std::vector<double> loads;
  size_t windows = 0;
  CpuTimes now{.known = true};
  Quiet wait(double wait_s) {
    return wait_until_quiet(
        {.wait_s = wait_s}, [this] { return now; },
        [this](double seconds) {
          now.elapsed_s += seconds;
          now.busy_s += seconds * (windows < loads.size() ? loads[windows] : 0);
          ++windows;
        });
  }
};

TEST(Quiet, WantsTwoQuietWindowsInARow) {
  Script script{{0.5, 0.01, 0.5, 0.01, 0.02}};
  const Quiet found = script.wait(45);
  EXPECT_TRUE(found.quiet);
  EXPECT_EQ(script.windows, 5u);
  EXPECT_NEAR(found.share, 0.02, 1e-9);
}

TEST(Quiet, GivesUpAfterTheWait) {
  Script script{std::vector<double>(100, 0.9)};
  const Quiet found = script.wait(3);
  EXPECT_FALSE(found.quiet);
  EXPECT_DOUBLE_EQ(found.waited_s, 3);
  EXPECT_NEAR(found.share, 0.9, 1e-9);
}

TEST(Quiet, DoesNotSleepWithoutAWait) {
  Script script{{}};
  EXPECT_FALSE(script.wait(0).quiet);
  EXPECT_EQ(script.windows, 0u);
}

TEST(Quiet, OwnTimeIsThatOfTheProcessesNamed) {
  const std::array own = {getpid()};
  const CpuTimes times = read_cpu_times(own);
  EXPECT_GT(times.own_s, 0);
  EXPECT_TRUE(times.known);
}

}  // namespace
}  // namespace attune
