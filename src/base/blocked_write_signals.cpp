// SPDX-License-Identifier: MIT
#include "base/blocked_write_signals.h"

#include <cerrno>
#include <ctime>

namespace attune {
namespace {

constexpr int kRaised[] = {SIGPIPE, SIGXFSZ};

}  // namespace

BlockedWriteSignals::BlockedWriteSignals() noexcept {
  sigset_t raised;
  ::sigemptyset(&raised);
  for (const int number : kRaised) ::sigaddset(&raised, number);
  ::sigpending(&pending_);
  ::pthread_sigmask(SIG_BLOCK, &raised, &before_);
}

BlockedWriteSignals::~BlockedWriteSignals() {
  const int error = errno;
  for (const int number : kRaised) {
    if (::sigismember(&pending_, number) == 1) continue;
    // The signal of a write is pending for the writing thread.
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, number);
    const timespec at_once{};
    while (::sigtimedwait(&one, nullptr, &at_once) < 0 && errno == EINTR) continue;
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

}  // namespace attune
