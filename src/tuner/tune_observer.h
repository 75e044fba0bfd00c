// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>

#include "core/device_info.h"
#include "search/contest.h"
#include "tuner/tune_result.h"

namespace attune {

/// Receives the progress of a run. Called by the thread of each device, one call at a time.
class TuneObserver {
 public:
  virtual ~TuneObserver() = default;
  virtual void progress(const Problem& problem, Phase phase, size_t num_alive) = 0;
  /// The problem waits for the compilers of this many candidates. Called several times a second until the next
  /// progress().
  virtual void compiling(const Problem&, size_t /*num_candidates*/) {}
  /// Called once per problem, in the order in which they end.
  virtual void finished(const TuneResult& result) = 0;
  /// Called when a device has no more work, with its worker's time use since the run began.
  virtual void device_ended(const TimeUse&) {}
  /// Called when one of several devices has lost all its workers. The other devices take over its open problems. `why`:
  /// the last worker's last message.
  virtual void device_lost(const DeviceInfo&, const std::string& /*why*/) {}
  /// Called when one of several workers of a device was lost. The device's other workers take over its open problems.
  virtual void worker_lost(const DeviceInfo&, const std::string& /*why*/) {}
  /// Called at least once a second while the run lasts, often more frequently, also while references are computed or
  /// compilers run. For things that change with time: a display, or a lease to renew, which should last several
  /// seconds. With candidates in this process (LocalExecutor, `--isolation none`) it is called only between their
  /// steps, because nothing may run in parallel with them. A launch, the opening of a library or the writing of
  /// operands that takes longer than a second delays it, and an interrupt, too. So does a journal that another program
  /// holds, as a vacuum of a large one does for seconds.
  virtual void tick() {}
};

/// Forwards the progress but not the results: a row's result is final only when its weight is settled.
class ProgressObserver final : public TuneObserver {
 public:
  explicit ProgressObserver(TuneObserver& inner) : inner_(inner) {}
  void progress(const Problem& problem, Phase phase, size_t num_alive) override {
    inner_.progress(problem, phase, num_alive);
  }
  void compiling(const Problem& problem, size_t num_candidates) override { inner_.compiling(problem, num_candidates); }
  void finished(const TuneResult&) override {}
  void device_ended(const TimeUse& time) override { inner_.device_ended(time); }
  void device_lost(const DeviceInfo& device, const std::string& why) override { inner_.device_lost(device, why); }
  void worker_lost(const DeviceInfo& device, const std::string& why) override { inner_.worker_lost(device, why); }
  void tick() override { inner_.tick(); }

 private:
  TuneObserver& inner_;
};

}  // namespace attune
