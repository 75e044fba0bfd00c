// SPDX-License-Identifier: MIT
#pragma once
#include "base/clock.h"
#include "campaign/run_progress.h"
#include "tuner/tune_observer.h"

namespace attune {

/// Keeps the progress of a run up to date and writes it to the run's file. Called by one thread at a time.
class ProgressTracker final : public TuneObserver {
 public:
  /// `start`: the run's sizes and names; its counts are 0. `state`: the folder of the file, as in ProgressFile. `clock`
  /// must outlive this.
  ProgressTracker(RunProgress start, const std::filesystem::path& state, Clock& clock = steady_clock());
  const RunProgress& now() const noexcept { return progress_; }

  void progress(const Problem& problem, Phase phase, size_t num_candidates) override;
  void compiling(const Problem& problem, size_t num_candidates) override;
  void finished(const TuneResult& result) override;
  void tick() override;

 private:
  RunProgress progress_;
  ProgressFile file_;
  Clock& clock_;
  const double began_s_;
};

}  // namespace attune
