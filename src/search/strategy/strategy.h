// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "search/strategy/trial.h"

namespace attune {

/// Decides which configs of one solver's space to try, and in which order. Pure and seeded; resumes by replaying
/// tell().
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Returns up to `max_count` indices not asked for before; fewer or none when it has no more for now.
  virtual std::vector<uint64_t> ask(size_t max_count) = 0;
  /// Reports what is known of an index. May be called again with better figures, and for an index never asked for (an
  /// incumbent, an earlier run).
  virtual void tell(const Trial& trial) = 0;
  /// True when ask() will return nothing more, whatever is told.
  virtual bool exhausted() const = 0;
  /// One sentence for a person about what it could not search; empty if there is nothing to say.
  virtual std::string remark() const { return ""; }
};

/// StrategyOptions::max_trials that no enumerated space reaches.
inline constexpr uint64_t kAllTrials = 1'000'000;

struct StrategyOptions {
  std::string name = "auto";  ///< `auto`, `exhaustive`, `random`, `local`, `model`.
  uint64_t seed = 0;
  /// Number of indices to ask for, including indices told without being asked for; `exhaustive` ignores it. `auto`
  /// searches spaces up to this size exhaustively.
  uint64_t max_trials = 96;
  /// Further indices that it may be asked for, those of other solvers (SolverAllocator). It does not plan with them.
  uint64_t spare_trials = 0;
};

}  // namespace attune
