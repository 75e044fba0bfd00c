// SPDX-License-Identifier: MIT
#include "dispatch/threads/application_end.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "dispatch/threads/background_thread.h"

namespace attune {
namespace {

using Milliseconds = std::chrono::milliseconds;

/// A process whose main thread ends, with one of the library's threads that returns once the application has ended.
/// `leave` starts what the application leaves behind.
pid_t process_that_ends(void (*leave)()) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  BackgroundThread::forget_all();
  static BackgroundThread& thread = *new BackgroundThread([] {
    while (!has_application_ended()) std::this_thread::sleep_for(Milliseconds(1));
  });
  static_cast<void>(thread);
  leave();
  ::syscall(SYS_exit,
            0);  // Of this thread alone, and without the stack's unwinding, which the test program would stop.
  ::_exit(1);
}

int status_of(pid_t child) {
  int status = -1;
  return ::waitpid(child, &status, 0) == child ? status : -1;
}

void* wait_for_ever(void*) {
  for (;;) ::pause();
}

TEST(ApplicationEnd, AProcessRunsWhileItsMainThreadDoes) { EXPECT_FALSE(has_application_ended()); }

TEST(ApplicationEnd, AProcessWhoseThreadsHaveEndedEnds) {
  const int status = status_of(process_that_ends([] {}));
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(ApplicationEnd, ASignalEndsAProcessWhoseOtherThreadsBlockIt) {
  const pid_t child = process_that_ends([] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    pthread_t thread;
    ::pthread_create(&thread, nullptr, wait_for_ever, nullptr);
  });
  std::this_thread::sleep_for(Milliseconds(10));
  ::kill(child, SIGTERM);
  const int status = status_of(child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
}

}  // namespace
}  // namespace attune
