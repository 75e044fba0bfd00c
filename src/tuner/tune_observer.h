// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>

#include "search/contest.h"
#include "tuner/tune_result.h"

namespace attune {

/// Receives the progress of a run. Called on the tuning thread.
class TuneObserver {
 public:
  virtual ~TuneObserver() = default;
  virtual void progress(const Problem& problem, Phase phase, size_t num_alive) = 0;
  /// Called once per problem, in the order in which they end.
  virtual void finished(const TuneResult& result) = 0;
};

}  // namespace attune
