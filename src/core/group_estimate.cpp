// SPDX-License-Identifier: MIT
#include "core/group_estimate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attune {
namespace {

/// Variance of a group's location that the spread within the groups explains, as a mean over the groups.
double variance_within(std::span<const std::vector<double>> groups, size_t num_groups) {
  std::vector<double> residuals;
  for (const auto& group : groups) {
    const double center = median(group);
    for (const double value : group) residuals.push_back(value - center);
  }
  const double sigma = scaled_mad(residuals);
  double sum = 0;
  for (const auto& group : groups) {
    // π/3 is the asymptotic variance of the estimate of Hodges and Lehmann for normal values, n − 1 the correction for
    // residuals that are taken from the group's own median.
    if (!group.empty()) sum += std::numbers::pi / 3 / static_cast<double>(std::max<size_t>(1, group.size() - 1));
  }
  return sigma * sigma * sum / static_cast<double>(num_groups);
}

}  // namespace

GroupEstimate estimate_groups(std::span<const std::vector<double>> groups) {
  GroupEstimate estimate;
  std::vector<double> centers;
  size_t num_values = 0;
  for (const auto& group : groups) {
    if (group.empty()) continue;
    centers.push_back(hodges_lehmann(group));
    num_values += group.size();
  }
  estimate.num_groups = centers.size();
  if (centers.empty()) return estimate;
  const auto count = static_cast<double>(centers.size());
  for (const double center : centers) estimate.center += center / count;
  double between = 0;
  for (const double center : centers) between += (center - estimate.center) * (center - estimate.center);
  if (centers.size() > 1) between /= count - 1;
  const double within = variance_within(groups, centers.size());
  estimate.standard_error = std::sqrt(std::max(between, within) / count);
  estimate.degrees = std::max(1.0, static_cast<double>(num_values) - count);
  if (between > within) estimate.degrees = std::min(estimate.degrees, (count - 1) * between / (between - within));
  return estimate;
}

bool GroupEstimate::exceeds(double bound, double p) const {
  return num_groups > 0 && center - bound > student_t_upper(p, degrees) * standard_error;
}

Interval GroupEstimate::interval(double level) const {
  const double half = student_t_upper((1 - level) / 2, degrees) * standard_error;
  return {center - half, center + half};
}

}  // namespace attune
