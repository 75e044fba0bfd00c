// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "attune/match.h"
#include "ops/family.h"

namespace attune {

// Which values of M a lookup tries. The rows are found in dispatch/table/matched_rows.h; the numbers are data of the
// family (PaddingLadder in ops/family.h).

/// M padded finely by the ladder of its family. Requires: M ≥ 1.
constexpr int64_t padded_m_fine(const PaddingLadder& ladder, int64_t m) noexcept {
  int64_t multiple = ladder.last_multiple;
  for (size_t i = ladder.fine.size(); i-- > 0;) {
    if (m <= ladder.fine[i].up_to) multiple = ladder.fine[i].multiple;
  }
  return (m + multiple - 1) & -multiple;  // A power of two: a division would cost a third of an exact lookup.
}

/// M padded coarsely.
constexpr int64_t padded_m_coarse(const PaddingLadder& ladder, int64_t m, int64_t n) noexcept {
  if (m > ladder.max_coarse_rows && n > ladder.max_free_columns) return ladder.max_coarse_rows;
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(m)));
}

/// The values of M that a lookup tries, in order and without duplicates: the problem's own, then, if the family pads, M
/// padded fine and M padded coarse.
class LookupSteps {
 public:
  struct Step {
    Match match = Match::exact;
    int64_t m = 0;
  };

  /// `ladder`: null for a family that does not pad.
  LookupSteps(const PaddingLadder* ladder, int64_t m, int64_t n) noexcept {
    add(Match::exact, m);
    constexpr int64_t kMaxPadded = int64_t{1} << 31;
    if (ladder == nullptr || m < 1 || m > kMaxPadded) return;
    add(Match::padded_fine, padded_m_fine(*ladder, m));
    add(Match::padded_coarse, padded_m_coarse(*ladder, m, n));
  }
  const Step* begin() const noexcept { return steps_.data(); }
  const Step* end() const noexcept { return steps_.data() + count_; }

 private:
  void add(Match match, int64_t m) noexcept {
    for (const Step& step : *this) {
      if (step.m == m) return;
    }
    steps_[count_++] = {match, m};
  }
  std::array<Step, 3> steps_;
  size_t count_ = 0;
};

}  // namespace attune
