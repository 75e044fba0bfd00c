// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

namespace attune {

/// Maps values to places on a line of a drawing.
class Axis {
 public:
  enum class Scale { linear, logarithmic };

  /// From the value `low` at the place `from` to `high` at `to`. Values that cannot be drawn are widened to ones that
  /// can: on a logarithmic scale both are above 0, and `low` is below `high`.
  Axis(Scale scale, double low, double high, double from, double to);

  /// Place of a value; values beyond an end are drawn at the end.
  double place(double value) const;
  double low() const noexcept { return low_; }
  double high() const noexcept { return high_; }
  /// Round values between the ends: on a logarithmic scale powers of ten, with 2 and 5 between where they are few.
  std::vector<double> ticks() const;

 private:
  Scale scale_;
  double low_, high_, from_, to_;
};

/// A number in at most four digits, as axes have it: `0.25`, `1.5`, `200`, `20k`, `3M`.
std::string tick_text(double value);
/// A coordinate with at most one decimal.
std::string coordinate(double value);

}  // namespace attune
