// SPDX-License-Identifier: MIT
#pragma once
#include <map>

#include "device/device.h"
#include "device/host/clock_kernel.h"
#include "device/host/host_memory.h"
#include "device/host/thread_watch.h"

namespace attune {

/// The processor that runs this program: `cpu:0`. Its units are the thread limit of this process: the least of its
/// cores, its CPU quota (whole processors, at least 1) and environment_threads().
///
/// Facts for rules: `num_units`, `l1_bytes`, `l2_bytes`, `l3_bytes` (data caches as reported), `schedstat` (0: the
/// kernel does not count run-queue delays, so no sample is ever dirty).
class HostDevice final : public Device {
 public:
  /// `max_threads`: limit on its units in addition to the process's own; 0: none. Cheap: measures nothing before a
  /// stream is opened.
  explicit HostDevice(int64_t max_threads = 0);

  static DeviceInfo describe(int64_t max_threads = 0);

  /// `peak_gflops` is an upper bound: the widest units' work per cycle on every core, times a bound of the clock. That
  /// bound is 6.5 GHz, which no core sold reaches. On x86-64-v4, where the clock kernel's cycles are known, the bound
  /// is the highest clock measured since the first stream was opened, and it rises with faster measurements.
  const DeviceInfo& info() const override { return info_; }
  double relative_clock() override;
  bool healthy() noexcept override { return true; }
  HostMemory& memory() override { return memory_; }
  /// The first call determines the usual clock: 20 to 200 ms.
  std::unique_ptr<Stream> open_stream() override;
  /// Measured at the size class at or below the working set, so never lower than its true bandwidth; 256 MB is the
  /// largest class.
  double bandwidth_gbs(uint64_t working_set_bytes, Reading reading) override;
  ThreadWatch* threads() override { return &threads_; }

 private:
  void bound_peak();

  std::vector<int> cores_;
  ClockKernel clock_;
  DeviceInfo info_;
  double clock_bound_ghz_;  ///< The clock used in info_.peak_gflops.
  HostMemory memory_;
  ThreadWatch threads_;
  std::map<int, double> bandwidths_;  ///< Keyed by the size class's power of two.
};

}  // namespace attune
