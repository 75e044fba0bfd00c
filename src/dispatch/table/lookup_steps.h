// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <bit>
#include <cstdint>

#include "attune/match.h"

namespace attune {

/// Returns M padded as the older dispatchers pad it (ROCm/aiter, gemm_common), so that their tables serve the same
/// shapes. Fine: M up to 256 is rounded up to a multiple of 16, up to 1024 of 32, up to 4096 of 64, larger M of 128.
/// Requires: M ≥ 1.
constexpr int64_t padded_m_fine(int64_t m) noexcept {
  const int64_t step = m <= 256 ? 16 : m <= 1024 ? 32 : m <= 4096 ? 64 : 128;
  return (m + step - 1) & -step;  // A power of two: a division would cost a third of an exact lookup.
}

/// Coarse: returns 8192 when M > 8192 and N > 4096, else the next power of two.
constexpr int64_t padded_m_coarse(int64_t m, int64_t n) noexcept {
  if (m > 8192 && n > 4096) return 8192;
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
