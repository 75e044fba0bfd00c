// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "core/record.h"

namespace attune {

/// The result that a problem is tuned for: a Decision, or the candidates that its race leaves (Ending::shortlisted),
/// for a contest in another process or as the values of a composite solver's part.
enum class Goal : uint8_t { decision, short_list };

/// One problem to tune; normalised.
struct WorkItem {
  Problem problem;
  std::optional<Incumbent> incumbent;  ///< The published winner: a finalist, preferred when tied.
  bool has_row = false;                ///< True if a table has a usable row: nothing is measured unless `retune`.
  Goal goal = Goal::decision;
  /// Ids of the solvers that take part, if TunerOptions::libraries admits them, too; empty: all.
  std::vector<std::string> solvers;
  /// If not empty, only these and the default configs are tried.
  std::vector<Candidate> candidates;
  bool defaults_only = false;  ///< True: only default configs are tried. `candidates` must be empty.
  /// True: the contest of searches that have ended. Candidates race again, so that all times are of one contest, and
  /// only their verifications are reused. The end of the budget cuts it, a share of the budget does not.
  bool is_contest = false;
  bool defaults_may_win = true;  ///< False: only one of `candidates` may win.
};

}  // namespace attune
