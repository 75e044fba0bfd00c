// SPDX-License-Identifier: MIT
#include "report/row_speed.h"

#include <utility>
#include <vector>

#include "base/statistics.h"

namespace attune {
namespace {

double allowance_us(double us) noexcept { return us < kTimerMattersBelowUs ? kTimerUs : 0; }

}  // namespace

bool is_slower_than_default(double median_us, double ratio_high, double percent) noexcept {
  return ratio_high < 1 / (1 + percent / 100) && median_us * (1 - ratio_high) > allowance_us(median_us);
}

bool is_slower_than_stated(const Measurement& measurement, double stated_us, double percent) {
  constexpr size_t kLeastSamples = 7;  // for a 95 % interval that is not the whole range
  std::vector<double> clean;
  for (const Sample& sample : measurement.samples) {
    if (!sample.dirty && sample.us > 0) clean.push_back(sample.us);
  }
  if (clean.size() < kLeastSamples) return false;
  return median_interval(std::move(clean)).first > (1 + percent / 100) * stated_us + allowance_us(stated_us);
}

}  // namespace attune
