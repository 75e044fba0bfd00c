// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>

#include "core/candidate.h"
#include "core/turn.h"

namespace attune {

/// A candidate that passed verification and may be sampled.
struct Entrant {
  Slot slot = 0;
  std::string name;                   ///< Candidate::name(); the last tie-break.
  std::string layout = kPlainLayout;  ///< The best of each layout reaches the finals.
  uint64_t workspace_bytes = 0;       ///< The first tie-break.
  bool baseline = false;    ///< The slot that a winner must beat. Never dropped in the race; always a finalist.
  bool is_default = false;  ///< A library's own config. A winner must beat the fastest of these in the finals.
  /// Choice of an earlier run. Kept in the contest like the baseline, and preferred when tied.
  bool incumbent = false;
  /// Whether it may win. One that may not, because it lacks what a winner must have, is measured as what a winner is
  /// compared with.
  bool may_win = true;
  bool shortlisted = false;  ///< An earlier, interrupted run already raced it: it skips the race and enters the finals.
};

}  // namespace attune
