// SPDX-License-Identifier: MIT
#include "solver/threads/new_threads.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>

namespace attune {
namespace {

TEST(NewThreads, CanBeStartedAndAreGoneAfterwards) {
  EXPECT_TRUE(can_start_threads(0));
  EXPECT_TRUE(can_start_threads(5));
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGUSR1), 0) << "the mask of signals is as before";
}

TEST(NewThreadsDeathTest, CannotBeStartedWhereTheSystemRefusesThem) {
#ifdef ATTUNE_SANITIZED
  GTEST_SKIP() << "a sanitized program needs more memory than the limit";
#endif
  const auto ask = [] {
    const rlimit none{1 << 20, RLIM_INFINITY};  // No room for a stack.
    setrlimit(RLIMIT_AS, &none);
    std::_Exit(can_start_threads(64) ? 1 : 0);
  };
  EXPECT_EXIT(ask(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace attune
