// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace attune {

/// A candidate of a problem, as Dispatcher::candidates() lists it. Dispatcher::run_candidate() takes either text.
struct NumberedCandidate {
  /// Place in the solver's list for the problem on the dispatcher's device, under its thread limit and with the
  /// library that is loaded: the same in every process in which these are the same. Tables carry it as `solidx`.
  uint64_t number = 0;
  std::string short_name;  ///< `cublaslt#17`: for this process; what lasts longer needs the name.
  std::string name;        ///< In full, as in tables: `cublaslt.gemm@2+13.1.0:algo=66;…`.
};

/// The candidates of one solver.
struct SolverCandidates {
  std::string solver;        ///< Id: `cublaslt.gemm`.
  std::string why_none;      ///< Why the solver has none for the problem here, behind its id; empty if it has some.
  uint64_t num_numbers = 0;  ///< All numbers are below it. Rules of the solver exclude some.
  std::vector<NumberedCandidate> candidates;  ///< The wanted ones, their numbers ascending.
};

/// Which candidates to list: of each solver the first `limit` whose numbers are at least `first`. The next page begins
/// behind the last one's number. A list costs about 1 µs for each number that it passes over, and rule.
struct CandidateRange {
  /// Id of the only solver, or its first part (`cublaslt`), which means those that support the problem, if any does;
  /// empty: all.
  std::string solver;
  uint64_t first = 0;
  uint64_t limit = 1000;
};

}  // namespace attune
