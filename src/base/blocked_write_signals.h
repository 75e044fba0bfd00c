// SPDX-License-Identifier: MIT
#pragma once
#include <csignal>

namespace attune {

/// Blocks the signals that writes raise for the calling thread during its life, and removes those that its writes
/// raised, so that the application, which keeps its own handlers, sees none: a write to a pipe without a reader fails
/// with EPIPE only, one beyond the largest file (`ulimit -f`) with EFBIG. Signals of these kinds that were already
/// pending stay pending for the application. Leaves errno unchanged. Takes about 1 µs.
class BlockedWriteSignals {
 public:
  BlockedWriteSignals() noexcept;
  ~BlockedWriteSignals();
  BlockedWriteSignals(const BlockedWriteSignals&) = delete;
  BlockedWriteSignals& operator=(const BlockedWriteSignals&) = delete;

 private:
  sigset_t before_{}, pending_{};
};

}  // namespace attune
