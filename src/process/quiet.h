// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace attune {

/// Processor time in seconds since the machine started, on the processors that the calling thread may use. Read it on a
/// thread that is not pinned (the supervisor; or between settle("", false) and the next turn).
struct CpuTimes {
  double elapsed_s = 0;  ///< Busy and idle time, summed over these processors.
  double busy_s = 0;     ///< Time of all processes and interrupts; time stolen by a hypervisor is not counted.
  double own_s = 0;      ///< Time of the run's own processes.
  bool known = false;    ///< False if /proc/stat cannot be read.
};
/// Parses the text of /proc/stat: the lines of `cores`.
CpuTimes parse_cpu_times(std::string_view stat, std::span<const int> cores);
/// Reads the current times. `own`: processes of the run (supervisor and workers). Takes about 50 µs.
CpuTimes read_cpu_times(std::span<const pid_t> own);

/// Share of the processors used by other processes between two readings, 0 … 1; 0 if unknown. The kernel counts in
/// ticks of 10 ms, so over 0.5 s and two processors a step is 1 %.
double others_share(const CpuTimes& before, const CpuTimes& after) noexcept;

/// Conditions for a quiet machine (docs/search.md).
struct QuietOptions {
  double max_share = 0.05;
  double window_s = 0.5;
  int windows = 2;     ///< Quiet windows needed in a row.
  double wait_s = 45;  ///< Maximum wait: `--quiet-wait`.
};

struct Quiet {
  bool quiet = false;
  double share = 0;  ///< Share of the last window.
  double waited_s = 0;
};

/// Sleeps window by window until the machine is quiet or the wait is over. With wait_s 0 it returns at once, not quiet.
/// `look` and `sleep_s` are for tests. `stop` is called after each window; true ends the wait; it may be empty.
Quiet wait_until_quiet(const QuietOptions& options, const std::function<CpuTimes()>& look,
                       const std::function<void(double)>& sleep_s, const std::function<bool()>& stop = {});
Quiet wait_until_quiet(const QuietOptions& options, std::span<const pid_t> own, const std::function<bool()>& stop = {});

}  // namespace attune
