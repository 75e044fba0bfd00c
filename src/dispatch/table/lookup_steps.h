// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>

#include "attune/match.h"
#include "dispatch/table/padding.h"

namespace attune {

/// The values of M that a lookup tries, in order and without duplicates: the problem's own, then, if the family pads, M
/// padded fine and M padded coarse.
class LookupSteps {
 public:
  struct Step {
    Match match = Match::exact;
    int64_t m = 0;
  };

  LookupSteps(bool pads_m, int64_t m, int64_t n) noexcept {
    add(Match::exact, m);
    constexpr int64_t kMaxPadded = int64_t{1} << 31;
    if (!pads_m || m < 1 || m > kMaxPadded) return;
    add(Match::padded_fine, padded_m_fine(m));
    add(Match::padded_coarse, padded_m_coarse(m, n));
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
