// SPDX-License-Identifier: MIT
#pragma once
#include "campaign/run_progress.h"
#include "tuner/tuner.h"

namespace attune {

/// Keeps the progress of a run up to date and writes it to the run's file. Called by one thread at a time.
class ProgressTracker final : public TuneObserver {
 public:
  /// `start`: the run's sizes and names; its counts are 0.
  explicit ProgressTracker(RunProgress start);
  const RunProgress& now() const noexcept { return progress_; }

  void progress(const Problem& problem, Phase phase, size_t num_candidates) override;
  void finished(const TuneResult& result) override;

 private:
  RunProgress progress_;
  ProgressFile file_;
  double began_s_;
};

}  // namespace attune
