// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attune/candidates.h"
#include "attune/problem.h"
#include "core/candidate.h"
#include "dispatch/plans/plan_maker.h"
#include "solver/candidate_number.h"
#include "solver/contender.h"
#include "solver/registry.h"

namespace attune {

/// Candidates of one device by their numbers. A library's list may take a second to make, so those of the last problem
/// are kept (7 MB for 127,000 algorithms), and so is what numbers have meant. Runs nothing. Not thread-safe.
class NumberedCandidates {
 public:
  /// Both outlive this.
  NumberedCandidates(PlanMaker& maker, const Registry& solvers) : maker_(maker), solvers_(solvers) {}

  /// Returns the candidate of a normalised problem. Throws like numbered_candidate(), and what the solver throws.
  const Candidate& find(const Problem& problem, const CandidateNumber& wanted);
  /// Like Dispatcher::candidates() for a normalised problem.
  std::vector<SolverCandidates> list(const Problem& problem, const CandidateRange& range);

 private:
  /// The contender of a solver of the registry; one that cannot be used here does not support the problem.
  const Contender& contender(const Problem& problem, const SolverEntry& entry);

  PlanMaker& maker_;
  const Registry& solvers_;
  std::string problem_;                                       ///< Key of the problem of contenders_.
  std::map<std::string, Contender, std::less<>> contenders_;  ///< By solver.
  std::map<std::string, Candidate, std::less<>> meanings_;    ///< By problem and CandidateNumber::text().
};

}  // namespace attune
