// SPDX-License-Identifier: MIT
#pragma once
#include "base/mutex.h"

namespace attune {

/// For applications under ThreadSanitizer. It does not see how the threads of libgomp and OpenBLAS wait for each other,
/// and would report every result that one of them copied and the application reads. A scope of one run of a plan: what
/// the calling thread did before is known to its pool, and what the pool did is known to the thread afterwards. Only
/// one thread at a time is in such a scope. Without a ThreadSanitizer in the process: a comparison.
class PoolOrder {
 public:
  PoolOrder() noexcept {
    if (kIsWatched) begin();
  }
  ~PoolOrder() {
    if (kIsWatched) end();
  }
  PoolOrder(const PoolOrder&) = delete;
  PoolOrder& operator=(const PoolOrder&) = delete;

 private:
  static const bool kIsWatched;
  // The lock is held from one to the other.
  static void begin() noexcept ATTUNE_NO_THREAD_SAFETY_ANALYSIS;
  static void end() noexcept ATTUNE_NO_THREAD_SAFETY_ANALYSIS;
};

}  // namespace attune
