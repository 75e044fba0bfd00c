// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "search/strategy/domain.h"
#include "search/strategy/strategy.h"

namespace attune {

std::vector<std::string_view> strategy_names();
/// `allowed`: the indices that survived pruning, ascending; nullopt: all. (An empty list is a space without
/// candidates.) Throws invalid_input for an unknown name.
std::unique_ptr<Strategy> make_strategy(const SearchSpace& space, std::optional<std::vector<uint64_t>> allowed,
                                        const StrategyOptions& options);

/// Returns the whole domain: `options.start` first, then the rest in random order, so that a run that is cut has seen a
/// fair sample.
std::unique_ptr<Strategy> make_exhaustive(Domain domain, const StrategyOptions& options);
/// Returns a random sample of `max_trials` configs, `options.start` first.
std::unique_ptr<Strategy> make_random(Domain domain, const StrategyOptions& options);
/// Returns `options.start`, then configs far from each other, then neighbours of the best. When those are used up, it
/// returns neighbours of the next best, then random configs.
std::unique_ptr<Strategy> make_local(Domain domain, const StrategyOptions& options);

}  // namespace attune
