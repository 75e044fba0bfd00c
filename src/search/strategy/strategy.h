// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/outcome.h"
#include "core/search_space.h"

namespace attune {

/// Decides which configs of one solver's space to try, and in which order. Pure and seeded; resumes by replaying
/// tell().
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Returns up to `max_count` indices not asked for before; fewer or none when it has no more for now.
  virtual std::vector<uint64_t> ask(size_t max_count) = 0;
  /// Reports the result for an index: a failed status, or ok with its median time so far. May be called again with a
  /// better estimate, and for an index never asked for (an incumbent, an earlier run).
  virtual void tell(uint64_t index, Status status, double median_us) = 0;
  /// True when ask() will return nothing more, whatever is told.
  virtual bool exhausted() const = 0;
};

struct StrategyOptions {
  std::string name = "auto";  ///< `auto`, `exhaustive`, `random`, `local`.
  uint64_t seed = 0;
  /// Maximum number of indices to ask for, including indices told without being asked for; `exhaustive` ignores it.
  /// `auto` searches spaces up to this size exhaustively.
  uint64_t max_trials = 96;
  std::vector<uint64_t> start;  ///< Indices asked for first: untuned config, incumbent, neighbours' winners.
};

}  // namespace attune
