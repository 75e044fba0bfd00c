// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace attune {

/// A row that differs from a problem in M alone.
struct Neighbour {
  int64_t m = 0;  ///< 0: no such row.
  double us = 0;  ///< Time of the row's winner.
};

/// The next rows with a smaller and a larger M. Either kernel may serve a problem between them; this says which one to
/// try first, and bounds how much slower than the best kernel each can be, given the rows' times. With r = M / M of the
/// row:
///
///     below.us, above.us·r ≤ best      above's kernel ≤ above.us      below's kernel ≤ below.us·⌈r⌉
///
/// The first two assume that, as M grows, the best kernels' time does not fall and their time per row of M does not
/// rise (of 36,508 published rows 98 and 97 % comply within 5 %). The third assumes that a kernel is not slower for
/// fewer rows, the last that it may work in blocks of below.m rows. docs/performance/unseen.md compares bounds with
/// regrets.
struct NextRows {
  static constexpr double kNone = 1e9;
  double below_regret = kNone, above_regret = kNone;  ///< Bounds: 0.05 is 5 % slower than the best.
  bool above_first = true;  ///< The row above is nearer by ratio, with a power in favour of larger M.

  static NextRows of(int64_t m, const Neighbour& below, const Neighbour& above) noexcept;
};

/// Largest bound that predictions in this process may have: ATTUNE_MAX_REGRET, else the default of DispatcherOptions.
/// Reads the environment.
struct MaxRegret {
  double share = 0;   ///< 0.25 is 25 %; 0: no predictions.
  std::string error;  ///< A sentence about an invalid value, which is ignored.
};
MaxRegret max_regret_wanted();

/// Converts a bound to Hit::regret_percent: in percent, rounded up.
constexpr uint8_t percent_of(float regret) noexcept {
  if (!(regret > 0)) return 0;
  const float percent = 100 * regret;
  if (percent > 254) return 255;
  const auto whole = static_cast<uint8_t>(percent);
  // A bound of 0.1 is 10 %, though the nearest float is slightly larger.
  return percent - static_cast<float>(whole) > 1e-4F ? whole + 1 : whole;
}

/// Rows whose kernels may serve a problem without a row, in the order to try them.
struct Predictions {
  struct Row {
    uint32_t number = 0;  ///< Row number in the index.
    float regret = 0;     ///< Bound on the regret.
  };
  std::array<Row, 2> rows;
  size_t count = 0;
  const Row* begin() const noexcept { return rows.data(); }
  const Row* end() const noexcept { return rows.data() + count; }
};

}  // namespace attune
