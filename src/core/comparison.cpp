// SPDX-License-Identifier: MIT
#include "core/comparison.h"

#include <cmath>
#include <vector>

namespace attune {

void set_ratio(Comparison& comparison, std::span<const double> log_ratios) {
  if (log_ratios.empty()) return;
  const std::vector<double> values(log_ratios.begin(), log_ratios.end());
  const Interval logs = median_interval(values);
  comparison.ratio = std::exp(median(values));
  comparison.interval = {std::exp(logs.low), std::exp(logs.high)};
}

}  // namespace attune
