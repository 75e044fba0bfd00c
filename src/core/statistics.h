// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace attune {

double median(std::vector<double> values);  ///< NaN when empty. O(n).
/// 1.4826 · median |x − median x|: a robust standard deviation. NaN when empty.
double scaled_mad(std::span<const double> values);
double normal_cdf(double z) noexcept;

/// Wilcoxon signed rank test that the values tend to be positive. Zeros are excluded, ties get mean ranks.
struct SignedRank {
  double z = 0;           ///< Without continuity correction.
  double p_positive = 1;  ///< One-sided, with continuity correction; 1 when fewer than 6 values are not zero.
  size_t n = 0;
};
SignedRank signed_rank(std::span<const double> values);

struct Interval {
  double low = 0, high = 0;
  bool operator==(const Interval&) const = default;
};
/// Location by Hodges and Lehmann: the median of the means of all pairs of values, each value paired with itself too.
/// As robust as the median against slow outliers, and steadier. NaN when empty. O(n²).
double hodges_lehmann(std::span<const double> values);
/// The value that Student's t exceeds with probability `p`. Requires: 0 < p < 0.5; `degrees` > 0, not always whole.
double student_t_upper(double p, double degrees);
/// Interval of the median by order statistics (binomial), at least `level` coverage; the range when n is too small.
Interval median_interval(std::vector<double> values, double level = 0.95);
double geometric_mean(std::span<const double> values);  ///< NaN when empty; values > 0.

}  // namespace attune
