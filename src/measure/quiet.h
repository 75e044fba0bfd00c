// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace attune {

/// Processor time spent since the machine started, in seconds, on the processors the calling thread may use: read it
/// where nothing is pinned (the supervisor; or between settle("", false) and the next turn).
struct CpuTimes {
  double elapsed_s = 0;  ///< Busy and idle, all these processors together.
  double busy_s = 0;     ///< Of all processes and interrupts; time stolen by a hypervisor is not counted.
  double own_s = 0;      ///< Of the processes named.
  bool known = false;    ///< False where /proc/stat cannot be read.
};
/// Of /proc/stat as text: the lines of `cores`.
CpuTimes parse_cpu_times(std::string_view stat, std::span<const int> cores);
/// Now. `own`: processes that belong to the run (supervisor and workers). About 50 µs.
CpuTimes read_cpu_times(std::span<const pid_t> own);

/// Other processes' share of the processors between two readings, 0 … 1; 0 when nothing is known. The kernel counts in
/// ticks of 10 ms, so over 0.5 s and two processors a step is 1 %.
double others_share(const CpuTimes& before, const CpuTimes& after) noexcept;

/// What counts as quiet (measurement.md).
struct QuietOptions {
  double max_share = 0.05;
  double window_s = 0.5;
  int windows = 2;     ///< In a row.
  double wait_s = 45;  ///< `--quiet-wait`.
};

struct Quiet {
  bool quiet = false;
  double share = 0;  ///< Of the last window.
  double waited_s = 0;
};

/// Sleeps window by window until the machine is quiet or the wait is over. With wait_s 0 it returns at once, not quiet.
/// `look` and `sleep_s` are for tests. `stop` is asked after each window and ends the wait; it may be empty.
Quiet wait_until_quiet(const QuietOptions& options, const std::function<CpuTimes()>& look,
                       const std::function<void(double)>& sleep_s, const std::function<bool()>& stop = {});
Quiet wait_until_quiet(const QuietOptions& options, std::span<const pid_t> own, const std::function<bool()>& stop = {});

}  // namespace attune
