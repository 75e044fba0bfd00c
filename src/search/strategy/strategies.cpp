// SPDX-License-Identifier: MIT
#include "search/strategy/strategies.h"

#include "base/error.h"
#include "base/text.h"

namespace attune {

std::vector<std::string_view> strategy_names() { return {"auto", "exhaustive", "random", "local"}; }

std::unique_ptr<Strategy> make_strategy(const SearchSpace& space, std::optional<std::vector<uint64_t>> allowed,
                                        const StrategyOptions& options) {
  Domain domain(space, std::move(allowed));
  const bool fits = domain.size() <= options.max_trials;
  if (options.name == "exhaustive" || (options.name == "auto" && fits))
    return make_exhaustive(std::move(domain), options);
  if (options.name == "random") return make_random(std::move(domain), options);
  if (options.name == "local" || options.name == "auto") return make_local(std::move(domain), options);
  fail(ErrorCode::invalid_input, "unknown strategy, use one of auto, exhaustive, random, local, got '{}'",
       options.name);
}

}  // namespace attune
