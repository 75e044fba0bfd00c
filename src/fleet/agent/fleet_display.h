// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <string>

#include "base/mutex.h"
#include "campaign/live_line.h"
#include "campaign/progress_tracker.h"
#include "fleet/agent/fleet_work.h"
#include "tuner/tune_observer.h"

namespace attune {

/// Displays a run of an agent: a live line, and a line for each job that has ended. ended() and say() are thread-safe,
/// the rest is called as TuneObserver says.
class FleetDisplay final : public TuneObserver {
 public:
  /// `json`: prints no job on standard output. `on_tick`: called by tick(), to renew leases.
  /// `on_device_lost`: receives a sentence when a device is lost and others go on.
  FleetDisplay(bool json, std::function<void()> on_tick, std::function<void(const std::string&)> on_device_lost = {});

  void set_total(size_t num_jobs) { num_all_ = num_jobs; }
  void ended(const EndedJob& job);
  /// Shows that compilers run for compile jobs.
  void compiling_kernels(size_t num_kernels);
  /// A sentence about contests whose samples other programs disturbed; empty: there was none.
  std::string noise_notice();
  void say(const std::string& line) { line_.print_line(line, false); }
  void hide() { line_.hide(); }
  const TimeUse& time() const noexcept { return time_; }  ///< Of all ended devices.

  void progress(const Problem& problem, Phase phase, size_t num_alive) override;
  void compiling(const Problem& problem, size_t num_candidates) override;
  void finished(const TuneResult&) override {}
  void tick() override;
  void device_ended(const TimeUse& time) override { time_ += time; }
  void device_lost(const DeviceInfo& device, const std::string& why) override;
  void worker_lost(const DeviceInfo& device, const std::string& why) override;

 private:
  ProgressLine now();

  const bool json_;
  const std::function<void()> on_tick_;
  const std::function<void(const std::string&)> on_device_lost_;
  ProgressTracker tracker_;  // Words for what a problem does.
  std::string kernels_;      // What compilers do for compile jobs; empty: none run.
  size_t num_all_ = 0;
  TimeUse time_;
  Mutex mutex_;
  size_t num_ended_ ATTUNE_GUARDED_BY(mutex_) = 0, num_failed_ ATTUNE_GUARDED_BY(mutex_) = 0,
                    num_noisy_ ATTUNE_GUARDED_BY(mutex_) = 0;
  LiveLine line_;
};

/// A line for people: `perf_eval     onednn.conv     2×8×9×8×8×3×3 fp32  3 candidates, best 12.3 µs`.
std::string job_line(const EndedJob& job);

}  // namespace attune
