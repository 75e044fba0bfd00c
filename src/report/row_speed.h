// SPDX-License-Identifier: MIT
#pragma once
#include "core/record.h"

namespace attune {

/// What a time below 0.2 µs may be off by whatever is done, in µs: reading a host's clock takes that long.
inline constexpr double kTimerUs = 0.02, kTimerMattersBelowUs = 0.2;

/// Whether a kernel is slower than the default by more than `percent`, and by more than a clock tells. `median_us`: its
/// own time; `ratio_high`: the default's time in terms of it, at most.
bool is_slower_than_default(double median_us, double ratio_high, double percent) noexcept;

/// Whether a kernel is slower than its table says by more than `percent`, and by more than a clock tells, by the low
/// end of the interval of its clean samples; false when they are too few to tell.
bool is_slower_than_stated(const Measurement& measurement, double stated_us, double percent);

}  // namespace attune
