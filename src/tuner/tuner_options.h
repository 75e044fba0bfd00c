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
#include "solver/static/rule_choice.h"

namespace attune {

struct TunerOptions {
  ContestOptions contest;
  StrategyOptions strategy;
  /// Factories of the strategy of one solver's search, and of the allocator of a problem's questions to its solvers.
  /// Both are called on the threads of all devices. Where strategies are asked early, make_strategy and its strategies
  /// are called on the threads of searches.
  std::function<std::unique_ptr<Strategy>(SearchTask, const StrategyOptions&)> make_strategy = attune::make_strategy;
  std::function<std::unique_ptr<SolverAllocator>()> make_allocator = favour_leaders;
  Protocol protocol;
  bool exhaustive = false;  ///< If true, every candidate is measured `warmup` + `iters` times: the oracle.
  uint32_t warmup = 5, iters = 101;
  std::vector<std::string> libraries;  ///< First parts of solver ids (`onednn`); empty: all solvers.
  bool split_k = true;                 ///< If false, candidates with split_k_of() above 1 are excluded.
  RuleChoice rules;                    ///< Which configs of a space are tried; default configs and rows always are.
  std::shared_ptr<const BanList> bans = std::make_shared<const BanList>();  ///< Candidates that are never tried.
  bool retune = false;  ///< If true, results in the journal are ignored.
  /// With `retune`: results after this journal entry (Stamp::id) still count, because an earlier call of the same run
  /// made them.
  int64_t own_after = std::numeric_limits<int64_t>::max();
  /// Whether compilers run while candidates are measured (DeviceKind). Strategies are then asked early, before the
  /// current candidate is admitted. Otherwise, and where no candidate needs a compiled kernel, each batch is compiled
  /// before it is measured.
  bool compiles_beside_measuring = false;
  /// Number of candidates to ask for in advance; 0: derived from the rates measured in earlier problems. It decides
  /// which results a learning strategy knows when it is asked.
  uint32_t asked_ahead = 0;
  double budget_s = 0;                                    ///< Time for the whole run; 0: unlimited.
  double problem_timeout_s = 0;                           ///< Time per problem, `--timeout`; 0: unlimited.
  double load_deadline_s = DeviceKind().load_deadline_s;  ///< Time allowed to prepare a candidate.
  /// Minimum time allowed for a launch; 50 times the best so far if that is more.
  double run_deadline_s = DeviceKind().run_deadline_s;
  /// Called once per run by the first device to measure, before any candidate runs; the other devices wait. Not called
  /// if nothing is measured. Its duration counts against no budget. If it waits, it calls the tick at least once a
  /// second and ends when that returns true.
  std::function<void(const Tick& tick)> before_measuring;
};

}  // namespace attune
