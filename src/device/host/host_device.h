// SPDX-License-Identifier: MIT
#pragma once
#include <map>

#include "device/device.h"
#include "device/host/clock_kernel.h"
#include "device/host/thread_watch.h"

namespace attune {

/// The processor this program runs on: `cpu:0`. Units are the cores the process was given.
///
/// Facts for rules: `num_units`, `l1_bytes`, `l2_bytes`, `l3_bytes` (data caches as reported), `schedstat` (0: the
/// kernel does not count run-queue delays, so no sample is ever dirty).
class HostDevice final : public Device {
 public:
  HostDevice();  ///< Cheap: nothing is measured before a stream is opened.

  static DeviceInfo describe();

  /// `peak_gflops` is an upper bound: what the widest units do in a cycle on every core, times a bound of the clock.
  /// That is 6.5 GHz, which no core sold reaches; on x86-64-v4, where the clock kernel's cycles are known, the highest
  /// clock seen since the first stream was opened, which rises when a faster one is seen.
  const DeviceInfo& info() const override { return info_; }
  double relative_clock() override;
  bool healthy() noexcept override { return true; }
  /// Throws Error{device} also when the system could give the memory only by killing something.
  Buffer allocate(uint64_t bytes, uint32_t alignment) override;
  void release(Buffer buffer) noexcept override;
  void copy(void* to, const void* from, uint64_t bytes) override;
  /// The first one finds the usual clock: 20 to 200 ms.
  std::unique_ptr<Stream> open_stream() override;
  /// From the size class at or below, so never less than what this working set can have; 256 MB is the largest class.
  double bandwidth_gbs(uint64_t working_set_bytes, Reading reading) override;
  void settle(std::string_view thread_pool, bool settled) override { threads_.settle(thread_pool, settled); }
  void begin_watch() override { threads_.begin(); }
  Disturbance end_watch() override { return {threads_.end()}; }

 private:
  void bound_peak();

  std::vector<int> cores_;
  ClockKernel clock_;
  DeviceInfo info_;
  double clock_bound_ghz_;  ///< In info_.peak_gflops.
  ThreadWatch threads_;
  std::map<int, double> bandwidths_;  ///< By the size class's power of two.
};

}  // namespace attune
