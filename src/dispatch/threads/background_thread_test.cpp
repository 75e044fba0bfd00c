// SPDX-License-Identifier: MIT
#include "dispatch/threads/background_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace attune {
namespace {

TEST(BackgroundThread, takes_none_of_the_application_s_signals) {
  sigset_t mask;
  sigemptyset(&mask);
  {
    const BackgroundThread thread([&] { pthread_sigmask(SIG_SETMASK, nullptr, &mask); });
  }
  EXPECT_EQ(sigismember(&mask, SIGTERM), 1);
  EXPECT_EQ(sigismember(&mask, SIGINT), 1);
  sigset_t own;
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGTERM), 0);
}

TEST(BackgroundThread, is_waited_for_as_long_as_one_likes) {
  std::atomic<bool> stop{false};
  const BackgroundThread thread([&] {
    while (!stop) std::this_thread::sleep_for(std::chrono::microseconds(100));
  });
  EXPECT_FALSE(thread.wait(std::chrono::milliseconds(2)));
  stop = true;
  EXPECT_TRUE(thread.wait(std::chrono::seconds(20)));
}

TEST(BackgroundThread, is_not_waited_for_by_a_child_of_fork) {
  std::atomic<bool> stop{false};
  auto thread = std::make_unique<BackgroundThread>([&] {
    while (!stop) std::this_thread::sleep_for(std::chrono::microseconds(100));
  });
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    const bool knows = !thread->is_of_this_process();
    thread.reset();
    ::_exit(knows ? 0 : 1);
  }
  EXPECT_TRUE(thread->is_of_this_process());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  stop = true;
}

}  // namespace
}  // namespace attune
