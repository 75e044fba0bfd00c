// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/statistics.h"

namespace attune {

/// The time of a candidate, and its speed against another one that was timed in the same rounds.
struct Comparison {
  double us = 0;            ///< Median of its clean samples; 0: not timed.
  double ratio = 1;         ///< The other's time / this one's, over pairs of samples; 0: unknown, there is no pair.
  Interval interval{1, 1};  ///< 95 % interval of the ratio; of several openings, it covers the variation between them.
  uint32_t num_clean = 0;   ///< Pairs in which both samples are clean.
  bool operator==(const Comparison&) const = default;
};

/// The same time without a ratio: compared with nothing.
inline Comparison without_ratio(const Comparison& comparison) {
  return {.us = comparison.us, .ratio = 0, .interval = {0, 0}};
}

/// Sets the ratio and its interval from ln(the other's time / this one's), one value a pair of one opening: the median,
/// and its interval by order statistics. Without a pair they are unknown: 0.
void set_ratio(Comparison& comparison, std::span<const double> log_ratios);
/// The same for pairs of several openings, one group an opening (core/group_estimate.h).
void set_ratio(Comparison& comparison, std::span<const std::vector<double>> log_ratios);

}  // namespace attune
