// SPDX-License-Identifier: MIT
#include "core/comparison.h"

#include <cmath>
#include <vector>

#include "core/group_estimate.h"

namespace attune {
namespace {

void set_unknown(Comparison& comparison) {
  comparison.ratio = 0;
  comparison.interval = {0, 0};
}

}  // namespace

void set_ratio(Comparison& comparison, std::span<const double> log_ratios) {
  if (log_ratios.empty()) return set_unknown(comparison);
  const std::vector<double> values(log_ratios.begin(), log_ratios.end());
  const Interval logs = median_interval(values);
  comparison.ratio = std::exp(median(values));
  comparison.interval = {std::exp(logs.low), std::exp(logs.high)};
}

void set_ratio(Comparison& comparison, std::span<const std::vector<double>> log_ratios) {
  // Whether few openings differ is itself uncertain; with this nominal level the interval covers the true ratio in 93
  // to 98 % of the cases, whatever the openings' variation (docs/adr/0015).
  constexpr double kLevel = 0.97;
  const GroupEstimate estimate = estimate_groups(log_ratios);
  if (estimate.num_groups == 0) return set_unknown(comparison);
  const Interval logs = estimate.interval(kLevel);
  comparison.ratio = std::exp(estimate.center);
  comparison.interval = {std::exp(logs.low), std::exp(logs.high)};
}

}  // namespace attune
