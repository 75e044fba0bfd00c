// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "attune/problem.h"
#include "core/record.h"

namespace attune {

/// One problem to tune; normalised.
struct WorkItem {
  Problem problem;
  std::optional<Incumbent> incumbent;  ///< The published winner: a finalist, preferred when tied.
  bool has_row = false;                ///< True if a table has a usable row: nothing is measured unless `retune`.
};

}  // namespace attune
