// SPDX-License-Identifier: MIT
#include "base/blocked_write_signals.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>

#include "base/error.h"
#include "base/file.h"

namespace attune {
namespace {

/// Returns the status of a child in which signals have their default actions.
int status_of_child(const std::function<bool()>& look) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int number : {SIGPIPE, SIGXFSZ}) ::signal(number, SIG_DFL);
    ::_exit(look() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

int pipe_without_reader() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return -1;
  ::close(ends[0]);
  return ends[1];
}

TEST(BlockedWriteSignals, a_pipe_without_a_reader_is_an_error_and_no_signal) {
  EXPECT_EQ(status_of_child([] {
              const int pipe = pipe_without_reader();
              {
                const BlockedWriteSignals blocked;
                if (::write(pipe, "x", 1) != -1 || errno != EPIPE) return false;
              }
              sigset_t mask, pending;
              ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
              ::sigpending(&pending);
              return ::sigismember(&mask, SIGPIPE) == 0 && ::sigismember(&pending, SIGPIPE) == 0;
            }),
            0);
}

TEST(BlockedWriteSignals, a_signal_that_waits_for_the_application_is_left_to_it) {
  EXPECT_EQ(status_of_child([] {
              sigset_t one, pending;
              ::sigemptyset(&one);
              ::sigaddset(&one, SIGPIPE);
              ::pthread_sigmask(SIG_BLOCK, &one, nullptr);
              ::raise(SIGPIPE);
              {
                const BlockedWriteSignals blocked;
                if (::write(pipe_without_reader(), "x", 1) != -1) return false;
              }
              ::sigpending(&pending);
              return ::sigismember(&pending, SIGPIPE) == 1;
            }),
            0);
}

TEST(BlockedWriteSignals, a_file_beyond_the_limit_is_an_error_and_no_signal) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("attune_quiet_{}", ::getpid());
  EXPECT_EQ(status_of_child([&] {
              const rlimit none{0, 0};
              ::setrlimit(RLIMIT_FSIZE, &none);
              try {
                write_file_atomically(file, "content");
              } catch (const Error& error) {
                return error.code() == ErrorCode::io;
              }
              return false;
            }),
            0);
  EXPECT_FALSE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace attune
