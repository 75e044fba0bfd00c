// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "search/strategy/trial_log.h"

namespace attune {

/// What an allocator sees of a lane: one solver that takes part in a problem, searched by a strategy of its own.
struct LaneState {
  std::string solver;      ///< Its id.
  TrialLog trials;         ///< What its strategy was told in this run: results, costs, the best.
  uint64_t num_asked = 0;  ///< Candidates that its strategy has named.
  bool idle = false;       ///< It has nothing to name in this request.
};

/// Decides which lane names the next candidate. Deterministic; one for each problem; not thread-safe.
class LaneAllocator {
 public:
  virtual ~LaneAllocator() = default;
  /// Returns the position of a lane that is not idle. Requires: there is one. `lanes` has the same solvers, in the same
  /// order, in every call.
  virtual size_t next(std::span<const LaneState> lanes) = 0;
};

/// Lanes name one candidate each, in turn, so that a large space does not delay a small one.
std::unique_ptr<LaneAllocator> take_turns();

}  // namespace attune
