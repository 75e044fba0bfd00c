// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "measure/executor.h"
#include "store/journal.h"
#include "tuner/tune_observer.h"
#include "tuner/tune_result.h"
#include "tuner/tuner_options.h"
#include "tuner/work_source.h"

namespace attune {

class Kernels;
struct TuningContext;

/// One executor of a run, with a journal and kernels of its own. All journals may be one file, all kernels one cache.
/// Several executors may work on one device, with one id: SharedDevice keeps them apart.
struct TuningDevice {
  Executor& executor;
  Journal& journal;
  Kernels* kernels = nullptr;  ///< Null: candidates that need compiled kernels fail.
  std::vector<int> cores;      ///< Cores for its thread and its compilers; empty: any.
};

/// Tunes problems one after another on each device; while one waits for its confirmation, the next one starts. All
/// candidates of a problem compete on one device. Announces and records everything in the journal and reuses recorded
/// results. Depends on no backend, database or file.
class Tuner {
 public:
  Tuner(Executor& executor, Journal& journal, TunerOptions options, Clock& clock = steady_clock(),
        Kernels* kernels = nullptr);
  /// The devices must be equal. With several, each has a thread during run(). The observer is called by one thread at a
  /// time. The problems of a lost device (Error{device}) go to the others.
  Tuner(std::vector<TuningDevice> devices, TunerOptions options, Clock& clock = steady_clock());
  /// Runs until the source has no more work; returns an empty text then. When the budget is spent or `interrupted`
  /// becomes true, the waiting problems stay with the source and the reason is returned. Decisions made before stay
  /// valid. Throws the error of the last device that is lost, and at once any error that is not a device's.
  std::string run(WorkSource& source, TuneObserver& observer, const std::atomic<bool>& interrupted);
  /// Runs a list of problems and returns the results in its order. When the budget is spent, the problems that still
  /// wait are looked up without measuring, some 10 ms each. A result in a table or the journal is kept or reused; all
  /// other problems are cut. The calling thread does this on the first device that was not lost. TunerOptions::retune
  /// switches it off.
  std::vector<TuneResult> run(const std::vector<WorkItem>& items, TuneObserver& observer,
                              const std::atomic<bool>& interrupted);

 private:
  /// How a run of all devices ended.
  struct RunEnd {
    std::string reason;                    ///< Why problems stayed with the source; empty: none did.
    std::vector<TuningDevice*> survivors;  ///< Devices that were not lost.
  };
  RunEnd run_devices(WorkSource& source, TuneObserver& observer, const std::atomic<bool>& interrupted);
  /// `executor`: the device's executor or a wrapper around it.
  TuningContext context_of(TuningDevice& device, Executor& executor, TuneObserver& observer,
                           std::function<bool()> is_stopped);

  std::vector<TuningDevice> devices_;
  TunerOptions options_;
  Clock& clock_;
};

}  // namespace attune
