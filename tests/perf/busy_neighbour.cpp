// SPDX-License-Identifier: MIT
#include "busy_neighbour.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>

#include "base/error.h"
#include "base/random.h"

namespace attune::experiments {
namespace {

double now_s() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void compute_for(double seconds) noexcept {
  volatile uint64_t value = 1;
  for (const double end = now_s() + seconds; now_s() < end;) {
    for (int i = 0; i < 10000; ++i) value = value * 6364136223846793005ULL + 1;
  }
}

void sleep_for(double seconds) noexcept {
  const timespec pause{0, static_cast<long>(seconds * 1e9)};
  nanosleep(&pause, nullptr);
}

/// Runs in a child forked from a process with threads, so it only uses system calls and arithmetic, no heap.
[[noreturn]] void disturb(Condition condition, pid_t parent) noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  cpu_set_t all;
  CPU_ZERO(&all);
  for (size_t core = 0; core < CPU_SETSIZE; ++core) CPU_SET(core, &all);
  sched_setaffinity(0, sizeof all, &all);  // The parent may have been pinned.
  Random random(static_cast<uint64_t>(parent));
  while (true) {
    if (condition == Condition::neighbour) {
      compute_for(1);
    } else {
      compute_for(0.02 + 0.04 * random.uniform());
      sleep_for(0.1 + 0.12 * random.uniform());
    }
  }
}

}  // namespace

std::string_view name(Condition condition) noexcept {
  static constexpr std::array<std::string_view, 3> kNames = {"quiet", "bursts", "neighbour"};
  return kNames[static_cast<size_t>(condition)];
}

BusyNeighbour::BusyNeighbour(Condition condition) {
  if (condition == Condition::quiet) return;
  const pid_t parent = getpid();
  child_ = fork();
  if (child_ < 0) fail(ErrorCode::io, "no second process could be started; raise the limit of processes");
  if (child_ == 0) disturb(condition, parent);
}

BusyNeighbour::~BusyNeighbour() {
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}

}  // namespace attune::experiments
