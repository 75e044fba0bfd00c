// SPDX-License-Identifier: MIT
#include "dispatch/table/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "attune/match.h"
#include "base/text.h"
#include "base/variable.h"

namespace attune {

NextRows NextRows::of(int64_t m, const Neighbour& below, const Neighbour& above) noexcept {
  // A kernel for more rows wastes some lanes; one for fewer rows may need another pass over the weights.
  constexpr double kAbovePower = 0.75;
  const auto ratio = [m](const Neighbour& row) { return static_cast<double>(m) / static_cast<double>(row.m); };
  NextRows next;
  double best = 0;
  if (below.m != 0) best = below.us;
  if (above.m != 0) best = std::max(best, above.us * ratio(above));
  if (best <= 0) return next;
  if (above.m != 0) next.above_regret = std::max(0.0, above.us / best - 1);
  if (below.m == 0) return next;
  next.below_regret = std::max(0.0, below.us * std::ceil(ratio(below)) / best - 1);
  next.above_first = above.m != 0 && std::log(ratio(below)) >= kAbovePower * -std::log(ratio(above));
  return next;
}

MaxRegret max_regret_wanted() {
  MaxRegret wanted{kDefaultMaxRegret, {}};
  const char* text = variable_or_null("ATTUNE_MAX_REGRET");
  if (text == nullptr) return wanted;
  constexpr double kMax = 10;
  const auto number = parse_double(text);
  if (number && *number >= 0 && *number <= kMax)
    wanted.share = *number;
  else
    wanted.error = fmt::format("ATTUNE_MAX_REGRET expects a fraction from 0 to {} (0.25 is 25 %), using {}: '{}'", kMax,
                               wanted.share, shown(text));
  return wanted;
}

}  // namespace attune
