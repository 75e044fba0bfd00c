// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>

namespace attune {

/// Time and sleep, replaceable so that tests run without waiting. Single-threaded.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual double now_s() = 0;  ///< Monotonic.
  virtual void sleep_s(double seconds) = 0;
};

/// CLOCK_MONOTONIC.
Clock& steady_clock();

/// Milliseconds since 1970, UTC; may go backwards when the machine's clock is set.
int64_t unix_ms();

/// Returns the present time in UTC in a format of strftime(), such as `%Y-%m-%d`; empty if it has more
/// than 63 characters. Thread-safe.
std::string utc_text(const char* format);
/// Returns a time in UTC as `2026-11-23T02:08:37.123Z`.
std::string utc_time_text(int64_t unix_ms);

}  // namespace attune
