// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "search/strategy/trial_log.h"

namespace attune {

/// An allocator's view of a solver that takes part in a problem; the solver's own strategy searches its configs.
struct SolverState {
  std::string solver;      ///< Its id.
  TrialLog trials;         ///< Trials that its strategy was told in this run: results, costs, the best.
  uint64_t num_asked = 0;  ///< Candidates that its strategy has named.
  bool idle = false;       ///< It has nothing to name in this request.
};

/// Decides which solver's strategy names the next candidate. Deterministic; one for each problem; not thread-safe.
class SolverAllocator {
 public:
  virtual ~SolverAllocator() = default;
  /// Returns the position of a solver that is not idle. Requires: there is one. `solvers` has the same ones, in the
  /// same order, in every call.
  virtual size_t next(std::span<const SolverState> solvers) = 0;
};

/// Solvers name one candidate each, in turn, so that a large space does not delay a small one. A solver that is behind
/// takes part in one of eight turns: once 24 of its candidates have times, the best of which takes 15 % more time than
/// the best of all solvers. That is more than what a search gains after its first 24 (docs/adr/0029), and where others
/// have nothing more to name, it names all that it has.
std::unique_ptr<SolverAllocator> favour_leaders();

}  // namespace attune
