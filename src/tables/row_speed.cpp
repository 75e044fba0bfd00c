// SPDX-License-Identifier: MIT
#include "tables/row_speed.h"

#include <utility>
#include <vector>

#include "core/statistics.h"

namespace attune {
namespace {

double allowance_us(double us) noexcept { return us < kTimerMattersBelowUs ? kTimerUs : 0; }

}  // namespace

bool is_slower_than_baseline(const Comparison& comparison, double percent) noexcept {
  const double high = comparison.interval.high;
  return high < 1 / (1 + percent / 100) && comparison.us * (1 - high) > allowance_us(comparison.us);
}

bool is_slower_than_stated(const Measurement& measurement, double stated_us, double percent) {
  constexpr size_t kMinSamples = 7;  // for a 95 % interval that is not the whole range
  std::vector<double> clean;
  for (const Sample& sample : measurement.samples) {
    if (!sample.dirty && sample.us > 0) clean.push_back(sample.us);
  }
  if (clean.size() < kMinSamples) return false;
  return median_interval(std::move(clean)).low > (1 + percent / 100) * stated_us + allowance_us(stated_us);
}

}  // namespace attune
