// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>

#include "attune/dispatcher.h"
#include "dispatch/key_codes.h"
#include "dispatch/padding.h"

namespace attune {

/// One M that a lookup looks at.
struct LookupM {
  Match match = Match::exact;
  int64_t m = 0;
};

/// The M of a lookup, in order: the problem's own, then padded fine, then coarse, where the family pads; none twice.
struct LookupSteps {
  std::array<LookupM, 3> steps;
  size_t count = 0;

  LookupSteps(const KeyCodes& codes, const KeyCodes::Codes& values) noexcept {
    const auto column = codes.m_column();
    const int64_t m = column ? values[*column] : 0;
    add(Match::exact, m);
    if (!column || m < 1) return;
    add(Match::padded_fine, padded_m_fine(m));
    add(Match::padded_coarse, padded_m_coarse(m, values[codes.n_column()]));
  }
  const LookupM* begin() const noexcept { return steps.data(); }
  const LookupM* end() const noexcept { return steps.data() + count; }

 private:
  void add(Match match, int64_t m) noexcept {
    if (count == 0 || steps[count - 1].m != m) steps[count++] = {match, m};
  }
};

/// The hash of a problem with another M.
inline ProblemKey hash_with_m(const KeyCodes& codes, KeyCodes::Codes values, int64_t m) noexcept {
  if (codes.m_column()) values[*codes.m_column()] = m;
  return codes.hash(values);
}

}  // namespace attune
