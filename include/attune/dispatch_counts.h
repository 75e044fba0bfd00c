// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace attune {

/// Counters since the dispatcher was created.
struct DispatchCounts {
  uint64_t calls = 0, misses = 0;  ///< Lookups; lookups that no row served.
  /// Distinct shapes. A shape that was not called while 65,536 others appeared without a plan may be counted again.
  uint64_t shapes = 0, missed_shapes = 0;
  uint64_t plans = 0, reloads = 0;  ///< Plans kept now; reloads of the tables.
  uint64_t plan_bytes = 0;          ///< Bytes held by kept plans, and by evicted plans whose hit a thread still holds.
  uint64_t evicted_plans = 0;       ///< Plans evicted; a plan too large to be kept at all counts each time.
  uint64_t plan_limit_reached = 0;  ///< Times that max_plan_bytes, or the bound of workspaces, forced an eviction.
  /// Plans that captured graphs hold now, beside the bytes above: each once for every graph and stream of its capture.
  uint64_t captured_plans = 0;
  /// Launches in captured graphs that keep a default kernel, because the kernel of the row was not compiled in time or
  /// cannot be. Of require_row(): calls that its caller computes for that reason.
  uint64_t captured_stand_ins = 0;
};

}  // namespace attune
