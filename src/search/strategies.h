// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include "search/domain.h"
#include "search/strategy.h"

namespace attune {

/// Returns the whole domain: `options.start` first, then the rest in random order, so that a run that is cut has seen a
/// fair sample.
std::unique_ptr<Strategy> make_exhaustive(Domain domain, const StrategyOptions& options);
/// Returns a random sample of `max_trials` configs, `options.start` first.
std::unique_ptr<Strategy> make_random(Domain domain, const StrategyOptions& options);
/// Returns `options.start`, then configs far from each other, then neighbours of the best. When those are used up, it
/// returns neighbours of the next best, then random configs.
std::unique_ptr<Strategy> make_local(Domain domain, const StrategyOptions& options);

}  // namespace attune
