// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace attune {

/// Time and sleep, so that tests run without waiting. One thread.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual double now_s() = 0;  ///< Monotonic.
  virtual void sleep_s(double seconds) = 0;
};

/// CLOCK_MONOTONIC.
Clock& steady_clock();

/// Milliseconds since 1970, UTC; may go back when somebody sets the machine's clock.
int64_t unix_ms();

}  // namespace attune
