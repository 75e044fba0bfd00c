// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/ban.h"
#include "core/record.h"
#include "device/device_kind.h"
#include "measure/executor.h"
#include "search/contest_options.h"
#include "search/strategy/solver_allocator.h"
#include "search/strategy/strategies.h"

namespace attune {

struct TunerOptions {
  ContestOptions contest;
  StrategyOptions strategy;
  /// Makes the strategy of one solver's search, and what divides a problem's questions between them. Called on the
  /// threads of all devices; where strategies are asked ahead, make_strategy, like what it makes, on those of searches.
  std::function<std::unique_ptr<Strategy>(SearchTask, const StrategyOptions&)> make_strategy = attune::make_strategy;
  std::function<std::unique_ptr<SolverAllocator>()> make_allocator = favour_leaders;
  Protocol protocol;
  bool exhaustive = false;  ///< If true, every candidate is measured `warmup` + `iters` times: the oracle.
  uint32_t warmup = 5, iters = 101;
  std::vector<std::string> libraries;  ///< First parts of solver ids (`onednn`); empty: all solvers.
  bool split_k = true;                 ///< If false, candidates whose config has split_k > 1 are excluded.
  std::shared_ptr<const BanList> bans = std::make_shared<const BanList>();  ///< Candidates that are never tried.
  bool retune = false;  ///< If true, results in the journal are ignored.
  /// With `retune`: results behind this entry of the journal (Stamp::id) count, as the run's own of an earlier call.
  int64_t own_after = std::numeric_limits<int64_t>::max();
  /// Whether compilers run while candidates are measured (DeviceKind). Strategies are then asked ahead of what is
  /// admitted; otherwise, and where no candidate needs a compiled kernel, a batch is compiled, and then measured.
  bool compiles_beside_measuring = false;
  /// Number of candidates that are asked for ahead, which decides what a strategy that learns has been told; 0: as the
  /// rates measured in earlier problems want it.
  uint32_t asked_ahead = 0;
  double budget_s = 0;                                    ///< Time for the whole run; 0: unlimited.
  double problem_timeout_s = 0;                           ///< Time per problem, `--timeout`; 0: unlimited.
  double load_deadline_s = DeviceKind().load_deadline_s;  ///< Time allowed to prepare a candidate.
  /// Minimum time allowed for a launch; 50 times the best so far if that is more.
  double run_deadline_s = DeviceKind().run_deadline_s;
  /// Called once per run, before the first candidate is run, by the first device while the others wait; not called if
  /// nothing is measured. Its duration counts against no budget. If it waits, it calls the tick at least once a second
  /// and ends when that returns true.
  std::function<void(const Tick& tick)> before_measuring;
};

}  // namespace attune
