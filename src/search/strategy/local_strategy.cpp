// SPDX-License-Identifier: MIT
#include <algorithm>

#include "search/strategy/guided_strategy.h"
#include "search/strategy/strategies.h"

namespace attune {
namespace {

/// One trial in this many is spread over the space before the neighbourhoods are searched.
constexpr uint64_t kSpreadShare = 4;

class LocalStrategy final : public GuidedStrategy {
 public:
  LocalStrategy(SearchTask task, const StrategyOptions& options)
      : GuidedStrategy(std::move(task), options, std::max<uint64_t>(8, options.max_trials / kSpreadShare)) {}

 private:
  std::optional<uint64_t> next_guess() override { return next_neighbour(); }
};

}  // namespace

std::unique_ptr<Strategy> make_local(SearchTask task, const StrategyOptions& options) {
  return std::make_unique<LocalStrategy>(std::move(task), options);
}

}  // namespace attune
