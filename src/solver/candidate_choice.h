// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "core/candidate.h"
#include "solver/contender.h"

namespace attune {

/// Candidates of one problem as a person names them.
struct CandidateChoice {
  std::vector<std::string> names;  ///< Candidate::name() of each, or its CandidateNumber.
  std::string solver;              ///< Id of one more candidate's solver; empty: none.
  std::string config;              ///< Its Config::key(), of that solver; empty: the default config.
};

/// Returns the candidates with these names, then the solver's; if the choice is empty, the default config of every
/// solver that supports the problem, in the order of the contenders. A name of another version or of a solver that is
/// not here is kept: it may be a table's. Throws invalid_input for a name or config that cannot be parsed, a config
/// without a solver, and one that its solver does not offer on the device; not_found for an unknown solver; unavailable
/// when the solver, or all solvers, do not support the problem. A number throws like numbered_candidate().
std::vector<Candidate> chosen_candidates(const CandidateChoice& choice, const Problem& problem,
                                         std::span<const Contender> contenders, const DeviceInfo& device);

}  // namespace attune
