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

/// Says which configs of one solver's space to try, in which order. Pure, seeded; resumes by replaying tell().
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Up to `at_most` indices not asked for before; fewer or none when it has no more for now.
  virtual std::vector<uint64_t> ask(size_t at_most) = 0;
  /// What became of an index: a failed status, or ok with its median time so far. May be called again with a better
  /// estimate; also for an index never asked for (an incumbent, an earlier run).
  virtual void tell(uint64_t index, Status status, double median_us) = 0;
  /// True when ask() will never return anything again whatever is told.
  virtual bool exhausted() const = 0;
};

struct StrategyOptions {
  std::string name = "auto";  ///< `auto`, `exhaustive`, `random`, `local`.
  uint64_t seed = 0;
  /// Asks at most, indices told of without an ask included; `exhaustive` does not care. `auto` asks spaces up to this
  /// size whole.
  uint64_t max_trials = 96;
  std::vector<uint64_t> start;  ///< Asked first: untuned config, incumbent, neighbours' winners.
};
std::vector<std::string_view> strategy_names();
/// `allowed`: the indices that survived pruning, ascending; nullopt: all. (An empty list is a space without a
/// candidate.) Throws invalid_input for an unknown name.
std::unique_ptr<Strategy> make_strategy(const SearchSpace& space, std::optional<std::vector<uint64_t>> allowed,
                                        const StrategyOptions& options);

}  // namespace attune
