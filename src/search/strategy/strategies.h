// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "search/strategy/search_task.h"
#include "search/strategy/strategy.h"

namespace attune {

std::vector<std::string_view> strategy_names();
/// Throws invalid_input for an unknown name.
std::unique_ptr<Strategy> make_strategy(SearchTask task, const StrategyOptions& options);
/// Number of indices of a domain that a strategy with these options plans to ask for, without spare ones.
uint64_t num_planned(const Domain& domain, const StrategyOptions& options);

// None of these reads the prior trials or the costs. A run that is resumed asks much the same questions, and the
// journal answers those that it knows: what it knows is told at once, not after a round, so a local search or a
// model may ask others.

/// Returns the whole domain: `task.start` first, then the rest in random order, so that a run that is cut has seen a
/// fair sample.
std::unique_ptr<Strategy> make_exhaustive(SearchTask task, const StrategyOptions& options);
/// Returns a random sample of `max_trials` configs and the spare ones, `task.start` first.
std::unique_ptr<Strategy> make_random(SearchTask task, const StrategyOptions& options);
/// Returns `task.start`, then configs far from each other, then neighbours of the best. When those are used up, it
/// returns neighbours of the next best, then random configs.
std::unique_ptr<Strategy> make_local(SearchTask task, const StrategyOptions& options);
/// Returns `task.start`, where the space estimates times the first config of each of the best groups, then configs far
/// from each other, then those for which a model of the times so far (GaussianProcess) expects the largest gain, of the
/// neighbours of the best, of random configs and of the best groups (docs/adr/0030).
/// About 10 ms for 16 configs with 100 times known.
std::unique_ptr<Strategy> make_model(SearchTask task, const StrategyOptions& options);

}  // namespace attune
