// SPDX-License-Identifier: MIT
#pragma once
#include <csignal>

namespace attune {

/// Blocks all signals for the calling thread during its life. Threads and processes started meanwhile inherit the mask.
class BlockedSignals {
 public:
  BlockedSignals() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace attune
