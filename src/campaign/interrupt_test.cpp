// SPDX-License-Identifier: MIT
#include "campaign/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

namespace attune {
namespace {

/// Ends this process with the status of an interrupted run, or with 1 when the signal did not interrupt it.
[[noreturn]] void exit_after(int signal) {
  const InterruptHandler handler;
  std::raise(signal);
  std::_Exit(is_interrupted() ? interrupt_status() : 1);
}

// The flag stays set for the life of a process, so each of these has one of its own. GoogleTest runs suites of this
// name first, before other tests have started threads.
TEST(InterruptDeathTest, ASignalSetsTheFlagAndTheStatus) {
  EXPECT_EXIT(exit_after(SIGINT), testing::ExitedWithCode(128 + SIGINT), "");
  EXPECT_EXIT(exit_after(SIGTERM), testing::ExitedWithCode(128 + SIGTERM), "");
  EXPECT_EXIT(exit_after(SIGHUP), testing::ExitedWithCode(128 + SIGHUP), "");
}

TEST(InterruptDeathTest, ASecondSignalEndsTheProgram) {
  const auto interrupt_twice = [] {
    const InterruptHandler handler;
    std::raise(SIGINT);
    std::raise(SIGTERM);
  };
  EXPECT_EXIT(interrupt_twice(), testing::KilledBySignal(SIGTERM), "");
}

TEST(InterruptDeathTest, AfterItsLifeASignalEndsTheProgram) {
  const auto interrupt_afterwards = [] {
    { const InterruptHandler handler; }
    std::raise(SIGTERM);
  };
  EXPECT_EXIT(interrupt_afterwards(), testing::KilledBySignal(SIGTERM), "");
}

TEST(InterruptDeathTest, ARunWithinARunLeavesTheHandlerToIt) {
  const auto interrupt_between = [] {
    const InterruptHandler outer;
    { const InterruptHandler inner; }
    exit_after(SIGTERM);
  };
  EXPECT_EXIT(interrupt_between(), testing::ExitedWithCode(128 + SIGTERM), "");
}

TEST(Interrupt, AHangupThatTheProcessIgnoresStaysIgnored) {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  {
    const InterruptHandler handler;
    std::raise(SIGHUP);
    EXPECT_FALSE(is_interrupted());
  }
  EXPECT_EQ(std::signal(SIGHUP, before), SIG_IGN);
}

}  // namespace
}  // namespace attune
