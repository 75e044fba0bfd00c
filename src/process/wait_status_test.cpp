// SPDX-License-Identifier: MIT
#include "process/wait_status.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace attune {
namespace {

using testing::HasSubstr;

WaitStatus signalled(int number, uint64_t peak_bytes = 0) {
  rusage usage{};
  usage.ru_maxrss = static_cast<long>(peak_bytes / 1024);
  return WaitStatus::of(number, usage);
}
WaitStatus exited(int code) { return WaitStatus::of(code << 8, {}); }

TEST(WaitStatus, OnlyExitStatusZeroIsGood) {
  EXPECT_TRUE(exited(0).ok());
  EXPECT_FALSE(exited(3).ok());
  EXPECT_FALSE(signalled(SIGTERM).ok());
  EXPECT_FALSE(WaitStatus::past(Milliseconds(5)).ok());
}

TEST(WaitStatus, SaysHowItEnded) {
  EXPECT_EQ(exited(3).describe(), "exited with status 3");
  EXPECT_EQ(signalled(SIGSEGV).describe(), "was killed by SIGSEGV (segmentation fault)");
  EXPECT_EQ(signalled(SIGRTMIN + 3).describe(), fmt::format("was killed by signal {}", SIGRTMIN + 3));
  EXPECT_EQ(WaitStatus::past(Milliseconds(1500)).describe(), "ran past its deadline of 1.5 s");
}

TEST(WaitStatus, ADeathWithADumpIsTheSameDeath) {
  constexpr int kDumped = 0x80;
  EXPECT_EQ(WaitStatus::of(SIGABRT | kDumped, {}), signalled(SIGABRT));
}

TEST(WaitStatus, BecomesAnOutcomeThatNamesTheProcess) {
  EXPECT_EQ(outcome_of(exited(0), "the compiler"), Outcome{});
  const Outcome outcome = outcome_of(signalled(SIGABRT), "the compiler");
  EXPECT_EQ(outcome.status, Status::crashed);
  EXPECT_EQ(outcome.detail, "the compiler was killed by SIGABRT (aborted)");
  EXPECT_EQ(outcome_of(exited(1), "it").status, Status::crashed);
}

TEST(WaitStatus, DeadlineAndProcessorTimeAreTimedOut) {
  EXPECT_EQ(outcome_of(WaitStatus::past(Milliseconds(5)), "it").status, Status::timed_out);
  EXPECT_EQ(outcome_of(signalled(SIGXCPU), "it").status, Status::timed_out);
}

TEST(WaitStatus, AKillIsForMemoryOnlyIfTheProcessHadGrown) {
  const Outcome large = outcome_of(signalled(SIGKILL, uint64_t{3} << 30), "it");
  EXPECT_EQ(large.status, Status::out_of_memory);
  EXPECT_THAT(large.detail, HasSubstr("3072 MB"));
  EXPECT_EQ(outcome_of(signalled(SIGKILL, 1 << 20), "it").status, Status::crashed);
  EXPECT_EQ(outcome_of(signalled(SIGSEGV, uint64_t{3} << 30), "it").status, Status::crashed);
}

TEST(WaitStatus, AKillThatTheKernelReportsIsForMemoryWhateverTheSize) {
  WaitStatus status = signalled(SIGKILL, 100 << 20);
  status.for_memory = true;
  EXPECT_EQ(outcome_of(status, "it").status, Status::out_of_memory);
  EXPECT_EQ(status.describe(), "was killed for exceeding its memory limit: it used 100 MB");
}

TEST(WaitStatus, ABrokenProtocolIsACrash) {
  WaitStatus status;
  status.end = WaitStatus::End::protocol;
  EXPECT_FALSE(status.ok());
  const Outcome outcome = outcome_of(status, "the worker");
  EXPECT_EQ(outcome.status, Status::crashed);
  EXPECT_EQ(outcome.detail, "the worker sent an invalid message");
  EXPECT_EQ(outcome_of_death(status, "the worker"), outcome);
}

TEST(WaitStatus, ADeathWithAnyExitStatusIsACrash) {
  for (const int code : {0, 3}) {
    const Outcome outcome = outcome_of_death(exited(code), "the worker");
    EXPECT_EQ(outcome.status, Status::crashed);
    EXPECT_EQ(outcome.detail, fmt::format("the worker exited on its own with status {}", code));
  }
  const WaitStatus late = WaitStatus::past(Milliseconds(5)), killed = signalled(SIGSEGV);
  EXPECT_EQ(outcome_of_death(late, "it"), outcome_of(late, "it"));
  EXPECT_EQ(outcome_of_death(killed, "it"), outcome_of(killed, "it"));
}

}  // namespace
}  // namespace attune
