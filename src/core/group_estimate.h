// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/statistics.h"

namespace attune {

/// Location of values that come in groups whose own locations may differ, such as the samples of several openings of a
/// worker, and its uncertainty (a random-effects model).
struct GroupEstimate {
  double center = 0;          ///< Mean of the groups' locations, which are those of Hodges and Lehmann.
  double standard_error = 0;  ///< Standard error of the center.
  double degrees = 1;         ///< Degrees of freedom of the standard error.
  size_t num_groups = 0;

  /// Whether the location exceeds `bound`, tested one-sided at the level `p` < 0.5.
  bool exceeds(double bound, double p) const;
  /// Two-sided interval; `level` < 1.
  Interval interval(double level) const;
};

/// Estimates the location. A group counts once, however many values it has, and not at all without one.
///
/// The variance of a group's location is the larger of two estimates: the variance between the groups, which has few
/// degrees of freedom, and what the spread within the groups explains, which has many. The degrees are those of the
/// first, (groups − 1), times its ratio to the part that the second does not explain. So groups that agree are judged
/// by all their values, and groups that differ by their number. One group is judged by its values alone.
GroupEstimate estimate_groups(std::span<const std::vector<double>> groups);

}  // namespace attune
