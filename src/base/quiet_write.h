// SPDX-License-Identifier: MIT
#pragma once
#include <csignal>

namespace attune {

/// During the object's life, writes of the calling thread raise no signal in the application, which keeps its own
/// handlers: a write to a pipe without a reader fails with EPIPE only, one beyond the largest file (`ulimit -f`) with
/// EFBIG. Signals of these kinds that were already pending stay pending for the application. Leaves errno unchanged.
/// Takes about 1 µs.
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
