// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>

#include "core/config.h"
#include "solver/solver.h"

namespace attune {

/// Returns the config on this many threads; one without `threads` as it is.
Config with_threads(const Config& config, int64_t threads);

/// Returns the default config on one thread if the problem is so small that a second costs more than it gives
/// (Solver::one_thread_flops()); else nothing. The run time serves a problem without a row with it; baselines are
/// default configs as they are. It may lie outside the solver's space: the default config serves then. Requires: the
/// problem is normalised. Cheap.
std::optional<Config> one_thread_config(const Solver& solver, const Problem& problem, const Config& default_config);

}  // namespace attune
