// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/machine.h"
#include "device/device.h"

namespace attune {

/// Manages this process's threads while candidates of several thread pools take turns: waits until they rest, pins them
/// to cores and reads their run-queue delays from schedstat. Used by the measuring thread only.
///
/// Threads are identified without the libraries' help: a thread belongs to the pool whose untimed launch created it or
/// first ran it. (OpenBLAS starts its threads when it is loaded, libgomp in the first parallel region and again
/// whenever a team grows.) A turn costs about 5 µs and 1 µs per thread.
class ThreadWatch final : public DeviceThreads {
 public:
  /// `cores`: the device's cores, ascending, not empty.
  explicit ThreadWatch(std::vector<int> cores);
  /// Gives every pinned thread the caller's cores of the first settle(); touches no other thread.
  ~ThreadWatch() override;
  ThreadWatch(const ThreadWatch&) = delete;
  ThreadWatch& operator=(const ThreadWatch&) = delete;

  /// False if the kernel does not count run-queue delays: end_watch() then always returns 0.
  bool has_schedstat() const noexcept { return has_schedstat_; }

  /// `settled` false: if the pool differs from the last one, waits until no other thread runs (0.4 ms, then polls; 5 ms
  /// at most), and lets the caller run on all cores. True: pins the pool's threads, the k-th to core k modulo their
  /// number, and the caller to the first core.
  void settle(std::string_view pool, bool settled) override;
  bool others_ran() const override { return others_ran_; }
  bool await_rest() override;
  void begin_watch() override;
  /// Largest run-queue delay of the caller and the pool's threads since begin_watch() / time since begin_watch().
  Disturbance end_watch() override;

  /// Core that a thread is pinned to; empty if it is not pinned. `read` replaces the kernel in tests.
  std::optional<int> core_of(pid_t thread, ReadAffinity read = ::sched_getaffinity) const;

 private:
  struct Thread;
  void refresh();
  bool rest();
  bool others_run() const;
  void assign(Thread& thread, const std::string& pool);
  void pin(pid_t thread, std::span<const int> cores) const;

  std::vector<int> cores_;
  std::vector<int> cores_before_;                 ///< The caller's at the first settle(); empty: no thread was pinned.
  std::vector<std::unique_ptr<Thread>> threads_;  ///< All except the caller, ascending by id.
  std::unique_ptr<Thread> caller_;
  int folder_ = -1;  ///< /proc/self/task
  std::string pool_;
  bool has_schedstat_ = false, others_ran_ = false;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace attune
