// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace attune {

/// A row that differs from a problem in M alone.
struct Neighbour {
  int64_t m = 0;  ///< 0: there is none.
  double us = 0;  ///< Of its winner.
};

/// The next rows with a smaller and a larger M, of which the kernel of one may serve a problem between them: which one,
/// and how much slower than the best kernel theirs can be as far as the rows' times can tell. With r = M / M of the
/// row:
///
///     below.us, above.us·r ≤ best      above's kernel ≤ above.us      below's kernel ≤ below.us·⌈r⌉
///
/// The first two suppose that of the best kernels neither the time falls nor the time for one row of M rises when M
/// grows (of 36,508 published rows 98 and 97 % keep to it within 5 %), the third that a kernel is not slower for fewer
/// rows, the last that it may work in blocks of below.m rows. docs/performance.md, Unseen M, has bounds beside regrets.
struct NextRows {
  static constexpr double kNone = 1e9;
  double below_regret = kNone, above_regret = kNone;  ///< Bounds: 0.05 is 5 % slower than the best.
  bool above_first = true;  ///< The row that is nearer, by ratio; a larger M is nearer than a smaller one by a power.

  static NextRows of(int64_t m, const Neighbour& below, const Neighbour& above) noexcept;
};

/// The largest bound that predictions of this process may have: ATTUNE_MAX_REGRET, else DispatcherOptions' default.
/// Reads the environment.
struct MaxRegret {
  double share = 0;       ///< 0.25 is 25 %; 0: nothing is predicted.
  std::string complaint;  ///< A wrong value, which is not used.
};
MaxRegret max_regret_wanted();

/// A bound as a Hit has it: in percent, rounded up.
constexpr uint8_t percent_of(float regret) noexcept {
  if (!(regret > 0)) return 0;
  const float percent = 100 * regret;
  if (percent > 254) return 255;
  const auto whole = static_cast<uint8_t>(percent);
  // A bound of 0.1 is 10 %, though the float next to it is a little more.
  return percent - static_cast<float>(whole) > 1e-4F ? whole + 1 : whole;
}

/// Rows whose kernels may serve a problem that has no row, the one to be tried first at the front.
struct Predictions {
  struct Row {
    uint32_t number = 0;  ///< In the index.
    float regret = 0;     ///< Bound.
  };
  std::array<Row, 2> rows;
  size_t count = 0;
  const Row* begin() const noexcept { return rows.data(); }
  const Row* end() const noexcept { return rows.data() + count; }
};

}  // namespace attune
