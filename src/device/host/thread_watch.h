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

namespace attune {

/// The threads of this process while candidates of several thread pools take turns: brings them to rest, gives them
/// their cores and reads from schedstat how long they waited for one. Used by the measuring thread alone.
///
/// Threads are told apart without the libraries' help: a thread belongs to the pool whose untimed launch it was created
/// in or first ran in (OpenBLAS starts its threads when it is loaded, libgomp in the first parallel region and anew
/// whenever a team grows). A turn costs about 5 µs and 1 µs a thread.
class ThreadWatch {
 public:
  /// `cores`: of the device, ascending, not empty.
  explicit ThreadWatch(std::vector<int> cores);
  ~ThreadWatch();  ///< Gives every thread all cores back.
  ThreadWatch(const ThreadWatch&) = delete;
  ThreadWatch& operator=(const ThreadWatch&) = delete;

  /// False where the kernel does not count run-queue delays: end() is then always 0.
  bool has_schedstat() const noexcept { return has_schedstat_; }

  /// See Device::settle. `settled` false: if the pool is another than before, waits until no other thread runs (0.4 ms,
  /// then looks; 5 ms at most), and lets the caller run on all cores. True: pins the threads found to be the pool's,
  /// its k-th to core k modulo their number, and the caller to the first.
  void settle(std::string_view pool, bool settled);
  void begin();
  /// Largest run-queue delay since begin() of the caller and the pool's threads, over the time since.
  double end();

  /// Core a thread is pinned to; nothing when it is not. For tests.
  std::optional<int> core_of(pid_t thread) const;

 private:
  struct Thread;
  void refresh();
  void rest();
  bool others_run() const;
  void assign(Thread& thread, const std::string& pool);
  void pin(pid_t thread, std::span<const int> cores) const;

  std::vector<int> cores_;
  std::vector<std::unique_ptr<Thread>> threads_;  ///< All but the caller, ascending by id.
  std::unique_ptr<Thread> caller_;
  int folder_ = -1;  ///< /proc/self/task
  std::string pool_;
  bool has_schedstat_ = false;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace attune
