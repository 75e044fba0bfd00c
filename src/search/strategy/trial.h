// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

#include "core/outcome.h"

namespace attune {

/// The results of one config that was tried. A later trial of an index replaces the earlier one, so its figures
/// include the earlier ones.
struct Trial {
  uint64_t index = 0;  ///< In the solver's space.
  Status status = Status::ok;
  double median_us = 0;      ///< Median of its samples so far; 0: not timed.
  double spread = 0;         ///< Spread of one sample, as of spread_of(); 0: unknown, or fewer than two samples.
  uint32_t num_samples = 0;  ///< Valid samples so far.
  double prepare_s = 0;      ///< Seconds spent in this run to compile, load and verify it; 0: none, or unknown.
  double timing_s = 0;       ///< Seconds of its launches for samples in this run, timed and as many untimed.
};

/// Seconds that one candidate costs; 0: unknown.
struct Costs {
  double prepare_s = 0;  ///< To compile, load and verify it.
  double timing_s = 0;   ///< To time it.
};

/// Relative standard deviation of a sample, as a fraction: 1.4826 · MAD / median of the samples that the median is of.
/// 0 without samples.
inline double spread_of(const Measurement& measurement) noexcept {
  return measurement.median_us > 0 ? measurement.spread_us / measurement.median_us : 0;
}

}  // namespace attune
