// SPDX-License-Identifier: MIT
#include "process/quiet.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/text.h"
#include "process/process_stat.h"

namespace attune {
namespace {

double ticks_a_second() { return static_cast<double>(sysconf(_SC_CLK_TCK)); }

/// User and system time of a process, exact for this process; 0 when it has ended.
double process_s(pid_t process) {
  if (process == getpid()) {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  const auto stat = process_stat(process);
  return stat.empty() ? 0 : static_cast<double>(stat[kUserTicks] + stat[kSystemTicks]) / ticks_a_second();
}

}  // namespace

CpuTimes parse_cpu_times(std::string_view stat, std::span<const int> cores) {
  CpuTimes times;
  for (const std::string_view line : split(stat, '\n')) {
    if (!line.starts_with("cpu")) continue;
    const auto fields = split(line, ' ');
    const auto core = parse_int(fields[0].substr(3));  // the line `cpu` is the sum of all
    if (!core || std::find(cores.begin(), cores.end(), *core) == cores.end() || fields.size() < 8) continue;
    // user nice system idle iowait irq softirq (steal guest …); user includes guests.
    double ticks[8] = {};
    for (size_t i = 1; i < 8; ++i) ticks[i] = static_cast<double>(parse_int(fields[i]).value_or(0));
    const double idle = ticks[4] + ticks[5], busy = ticks[1] + ticks[2] + ticks[3] + ticks[6] + ticks[7];
    times.busy_s += busy / ticks_a_second();
    times.elapsed_s += (busy + idle) / ticks_a_second();
    times.known = true;
  }
  return times;
}

CpuTimes read_cpu_times(std::span<const pid_t> own) {
  CpuTimes times;
  try {
    times = parse_cpu_times(read_file("/proc/stat"), allowed_cores());
  } catch (const Error&) {
    return times;
  }
  for (const pid_t process : own) times.own_s += process_s(process);
  return times;
}

double others_share(const CpuTimes& before, const CpuTimes& after) noexcept {
  const double elapsed_s = after.elapsed_s - before.elapsed_s;
  if (!before.known || !after.known || elapsed_s <= 0) return 0;
  const double others_s = (after.busy_s - before.busy_s) - (after.own_s - before.own_s);
  return std::clamp(others_s / elapsed_s, 0.0, 1.0);
}

Quiet wait_until_quiet(const QuietOptions& options, const std::function<CpuTimes()>& look,
                       const std::function<void(double)>& sleep_s, const std::function<bool()>& stop) {
  Quiet answer;
  int in_a_row = 0;
  CpuTimes before = look();
  while (answer.waited_s + options.window_s <= options.wait_s) {
    sleep_s(options.window_s);
    answer.waited_s += options.window_s;
    if (stop && stop()) break;
    const CpuTimes now = look();
    answer.share = others_share(before, now);
    before = now;
    in_a_row = answer.share < options.max_share ? in_a_row + 1 : 0;
    if (in_a_row == options.windows) {
      answer.quiet = true;
      break;
    }
  }
  return answer;
}

Quiet wait_until_quiet(const QuietOptions& options, std::span<const pid_t> own, const std::function<bool()>& stop) {
  return wait_until_quiet(
      options, [&] { return read_cpu_times(own); },
      [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }, stop);
}

}  // namespace attune
