// SPDX-License-Identifier: MIT
#pragma once
#include <csignal>

namespace attune {

/// While it lives, what the calling thread writes raises no signal in the application, whose dispositions are its own:
/// a write to a pipe that nobody reads fails with EPIPE alone, one beyond the largest file (`ulimit -f`) with EFBIG.
/// Signals of these kinds that wait for the application are left to it. Leaves errno as it was. About 1 µs.
class QuietWrite {
 public:
  QuietWrite() noexcept;
  ~QuietWrite();
  QuietWrite(const QuietWrite&) = delete;
  QuietWrite& operator=(const QuietWrite&) = delete;

 private:
  sigset_t before_{}, pending_{};
};

}  // namespace attune
