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

/// One device of a run: its executor, and its own journal and kernels (the journals of all devices may be one file,
/// their kernels one cache). Several may be workers of one device, with one id: SharedDevice keeps them apart.
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
  /// The devices must be equal. With more than one, each has a thread during run(), the observer is called by one
  /// thread at a time, and the problems of a device that is lost (Error{device}) go to the others.
  Tuner(std::vector<TuningDevice> devices, TunerOptions options, Clock& clock = steady_clock());
  /// Runs until the source has no more work. Problems that wait when the budget is spent or `interrupted` becomes true
  /// stay with the source; returns the reason then, else an empty text. Decisions made before stay valid. Throws the
  /// error of the last device that is lost, and at once any error that is not a device's.
  std::string run(WorkSource& source, TuneObserver& observer, const std::atomic<bool>& interrupted);
  /// The same for a list. Returns results in the order of the items. Those that still wait when the budget is spent are
  /// looked up, which measures nothing and takes some 10 ms each: what a table or the journal has is kept or reused,
  /// the others are cut. The calling thread does it on the first device that was not lost; TunerOptions::retune
  /// switches it off.
  std::vector<TuneResult> run(const std::vector<WorkItem>& items, TuneObserver& observer,
                              const std::atomic<bool>& interrupted);

 private:
  /// How a run of all devices ended.
  struct RunEnd {
    std::string reason;                    ///< Why work was left to the source; empty: none was.
    std::vector<TuningDevice*> survivors;  ///< Devices that were not lost.
  };
  RunEnd run_devices(WorkSource& source, TuneObserver& observer, const std::atomic<bool>& interrupted);
  /// `executor`: the device's, or one that stands for it.
  TuningContext context_of(TuningDevice& device, Executor& executor, TuneObserver& observer,
                           std::function<bool()> is_stopped);

  std::vector<TuningDevice> devices_;
  TunerOptions options_;
  Clock& clock_;
};

}  // namespace attune
