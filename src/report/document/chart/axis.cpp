// SPDX-License-Identifier: MIT
#include "report/document/chart/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attune {

Axis::Axis(Scale scale, double low, double high, double from, double to)
    : scale_(scale), low_(low), high_(high), from_(from), to_(to) {
  if (!std::isfinite(low_)) low_ = 1;
  if (!std::isfinite(high_)) high_ = low_;
  if (scale_ == Scale::logarithmic) {
    low_ = low_ > 0 ? low_ : 1e-3;
    if (high_ <= low_) high_ = low_ * 1.1;
  } else if (high_ <= low_) {
    high_ = low_ + 1;
  }
}

double Axis::place(double value) const {
  const bool is_log = scale_ == Scale::logarithmic;
  const double clamped = std::isnan(value) ? low_ : std::clamp(value, low_, high_);
  const double share = is_log ? std::log(clamped / low_) / std::log(high_ / low_) : (clamped - low_) / (high_ - low_);
  return from_ + share * (to_ - from_);
}

std::vector<double> Axis::ticks() const {
  std::vector<double> ticks;
  if (scale_ == Scale::linear) {
    const double raw = (high_ - low_) / 5, power = std::pow(10, std::floor(std::log10(raw)));
    const double step = power * (raw / power > 5 ? 10 : raw / power > 2 ? 5 : raw / power > 1 ? 2 : 1);
    for (double tick = std::ceil(low_ / step) * step; tick <= high_ + step * 1e-9; tick += step)
      ticks.push_back(std::abs(tick) < step * 1e-9 ? 0 : tick);
    return ticks;
  }
  const double decades = std::log10(high_ / low_);
  std::vector<double> steps = {1};
  if (decades < 4) steps = {1, 2, 5};
  if (decades < 0.8) steps = {1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8};
  if (decades < 0.15) steps = {1, 1.02, 1.05, 1.1, 1.2, 1.3, 1.5, 2, 3, 5, 7, 8, 9, 9.5, 9.8};
  for (double power = std::pow(10, std::floor(std::log10(low_))); power <= high_; power *= 10) {
    for (const double step : steps) {
      if (step * power >= low_ * (1 - 1e-9) && step * power <= high_ * (1 + 1e-9)) ticks.push_back(step * power);
    }
  }
  return ticks;
}

std::string tick_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e9) return fmt::format("{:.3g}G", value / 1e9);
  if (size >= 1e6) return fmt::format("{:.3g}M", value / 1e6);
  if (size >= 1e4) return fmt::format("{:.3g}k", value / 1e3);
  return fmt::format("{:.4g}", value);
}

std::string coordinate(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

}  // namespace attune
