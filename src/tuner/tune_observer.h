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

/// Passes the progress on, not the results: a row's result is known when its weight is settled.
class ProgressObserver final : public TuneObserver {
 public:
  explicit ProgressObserver(TuneObserver& inner) : inner_(inner) {}
  void progress(const Problem& problem, Phase phase, size_t num_alive) override {
    inner_.progress(problem, phase, num_alive);
  }
  void finished(const TuneResult&) override {}

 private:
  TuneObserver& inner_;
};

}  // namespace attune
