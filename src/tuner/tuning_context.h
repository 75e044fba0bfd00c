// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "core/candidate.h"
#include "measure/executor.h"
#include "search/strategy/trial.h"
#include "store/journal.h"
#include "tuner/history/neighbours.h"
#include "tuner/kernels.h"
#include "tuner/problem/look_ahead.h"
#include "tuner/tune_observer.h"
#include "tuner/tuner_options.h"

namespace attune {

/// The result of tuning a part of a composite solver's candidates.
struct PartResult {
  std::vector<Candidate> short_list;
  std::string reason;  ///< If the list is empty.
  std::vector<UnbuiltCandidate> unbuilt;
  bool was_cut = false;  ///< Its time ran out before it had a list: candidates keep the choice of the default config.
};

/// State that the runs of one device share.
struct TuningContext {
  Executor& executor;
  Journal& journal;
  const TunerOptions& options;
  Clock& clock;
  TuneObserver& observer;
  Kernels* kernels;                ///< Null: candidates that need compiled kernels fail.
  std::function<double()> left_s;  ///< Time left of the budget; huge without a budget.
  /// True after an interrupt or when the budget is spent; checked between candidates.
  std::function<bool()> must_stop;
  std::function<bool()> interrupted;
  /// Ticks the observer and returns whether an interrupt, or the end of the budget some seconds ago, aborts the
  /// outstanding request. Called at least once a second while there is one.
  Tick tick;
  NeighbourIndex neighbours;
  Slot next_slot = 1;
  bool said_clock_is_unknown = false;  ///< Whether a result has already said that the cause of a low clock is unknown.
  uint32_t epoch = 0;                  ///< The executor's epoch as of its last answer.
  double recycle_s = 0;                ///< Duration of the last recycle.
  std::map<std::string, PartResult> parts;  ///< By the part's key.
  /// Ids of parts in the executor, counted down from an id that no source of work gives out.
  ProblemId next_part = ~ProblemId{0} - 1;
  LookAhead look_ahead;  ///< From the problems so far.
  TimeUse time;          ///< Time of all problems' steps and of the gaps between them.
  /// Time for which the tuner kept its worker waiting and which no answer has reported yet.
  double paused_s = 0, compiling_s = 0;
  std::map<std::string, Costs> costs;  ///< Costs of one candidate, by solver, in the last problem that it took part in.
};

}  // namespace attune
