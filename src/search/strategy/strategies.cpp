// SPDX-License-Identifier: MIT
#include "search/strategy/strategies.h"

#include <algorithm>

#include "base/error.h"

namespace attune {

std::vector<std::string_view> strategy_names() { return {"auto", "exhaustive", "random", "local", "model"}; }

std::unique_ptr<Strategy> make_strategy(SearchTask task, const StrategyOptions& options) {
  const bool fits = task.domain.size() <= options.max_trials;
  if (options.name == "exhaustive" || (options.name == "auto" && fits))
    return make_exhaustive(std::move(task), options);
  if (options.name == "random") return make_random(std::move(task), options);
  if (options.name == "local") return make_local(std::move(task), options);
  if (options.name == "model" || options.name == "auto") return make_model(std::move(task), options);
  fail(ErrorCode::invalid_input, "unknown strategy, use one of auto, exhaustive, random, local, model, got '{}'",
       options.name);
}

uint64_t num_planned(const Domain& domain, const StrategyOptions& options) {
  return options.name == "exhaustive" ? domain.size() : std::min(domain.size(), options.max_trials);
}

}  // namespace attune
