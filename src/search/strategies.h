// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include "search/domain.h"
#include "search/strategy.h"

namespace attune {

/// All of the domain: `options.start` first, then in random order, so that a run that is cut saw a fair sample.
std::unique_ptr<Strategy> make_exhaustive(Domain domain, const StrategyOptions& options);
/// A random sample of `max_trials`, `options.start` first.
std::unique_ptr<Strategy> make_random(Domain domain, const StrategyOptions& options);
/// `options.start`, then configs far from each other, then neighbours of the best; where those are used up, the
/// neighbours of the next best, then random ones.
std::unique_ptr<Strategy> make_local(Domain domain, const StrategyOptions& options);

}  // namespace attune
