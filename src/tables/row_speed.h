// SPDX-License-Identifier: MIT
#pragma once
#include "core/record.h"

namespace attune {

/// Error in µs that a time below 0.2 µs may always have: reading a host's clock takes that long.
inline constexpr double kTimerUs = 0.02, kTimerMattersBelowUs = 0.2;

/// True if a kernel is slower than the baseline by more than `percent`, and by more than the clock's error.
/// `comparison`: of the kernel with the baseline.
bool is_slower_than_baseline(const Comparison& comparison, double percent) noexcept;

/// True if a kernel is slower than its table states by more than `percent`, and by more than the clock's error, at the
/// low end of the interval of its clean samples. False if there are too few samples to decide.
bool is_slower_than_stated(const Measurement& measurement, double stated_us, double percent);

}  // namespace attune
