// SPDX-License-Identifier: MIT
#include "thread_settings.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <omp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <latch>
#include <mutex>
#include <thread>

#include "attune/error.h"

namespace attune {
namespace {

uint64_t call_all(std::span<const CheckedCall> calls) {
  uint64_t wrong = 0;
  for (const CheckedCall& call : calls) wrong += call();
  return wrong;
}

/// Number of turns that make the wanted number of calls.
uint64_t turns_for(std::span<const CheckedCall> calls, uint64_t wanted) {
  return std::max<uint64_t>(2, (wanted + calls.size() - 1) / std::max<size_t>(1, calls.size()));
}

uint64_t call_often(std::span<const CheckedCall> calls, uint64_t wanted) {
  uint64_t wrong = 0;
  for (uint64_t turn = 0; turn < turns_for(calls, wanted); ++turn) wrong += call_all(calls);
  return wrong;
}

uint64_t plain(const MakeCalls& make, uint64_t wanted) { return call_often(make(), wanted); }

uint64_t dynamic_teams(const MakeCalls& make, uint64_t wanted) {
  const auto calls = make();
  uint64_t wrong = 0;
  for (uint64_t turn = 0; turn < turns_for(calls, wanted); ++turn) {
    omp_set_dynamic(turn % 2 == 0);
    wrong += call_all(calls);
    if (omp_get_dynamic() != (turn % 2 == 0)) ++wrong;  // The setting is the application's.
  }
  return wrong;
}

/// Calls from all threads of a region of `size`, one at a time. Half of the turns are outside of it.
uint64_t from_region(const MakeCalls& make, uint64_t wanted, int size) {
  const auto calls = make();
  uint64_t wrong = 0;
  std::mutex mutex;
  for (uint64_t turn = 0; turn < turns_for(calls, wanted); ++turn) {
    if (turn % 2 == 1) wrong += call_all(calls);
#pragma omp parallel num_threads(size)
    {
      const std::scoped_lock lock(mutex);
      wrong += call_all(calls);
    }
  }
  return wrong;
}

uint64_t nested(const MakeCalls& make, uint64_t wanted) { return from_region(make, wanted, 2); }

uint64_t nested_with_teams(const MakeCalls& make, uint64_t wanted) {
  omp_set_max_active_levels(4);
  return from_region(make, wanted, 2);
}

uint64_t region_of_one(const MakeCalls& make, uint64_t wanted) { return from_region(make, wanted, 1); }

/// The calls are made ready within a region.
uint64_t made_in_region(const MakeCalls& make, uint64_t wanted) {
  std::vector<CheckedCall> calls;
#pragma omp parallel num_threads(2)
#pragma omp single
  calls = make();
  return call_often(calls, wanted);
}

/// Limits that come and go between calls.
uint64_t lowered(const MakeCalls& make, uint64_t wanted) {
  const auto calls = make();
  uint64_t wrong = 0;
  for (uint64_t turn = 0; turn < turns_for(calls, wanted); ++turn) {
    wrong += call_all(calls);
#pragma omp teams num_teams(1) thread_limit(1)
    wrong += call_all(calls);
#pragma omp teams num_teams(1) thread_limit(2)
    wrong += call_all(calls);
    omp_set_num_threads(1);
    wrong += call_all(calls);
    omp_set_num_threads(2);
    const int levels = omp_get_max_active_levels();
    omp_set_max_active_levels(0);
    wrong += call_all(calls);
    omp_set_max_active_levels(levels);
    if (omp_get_max_threads() != 2) ++wrong;  // The number is the application's.
  }
  return wrong;
}

uint64_t without_filter() {
  std::puts("skipped: the system does not allow the filter");
  return 0;
}

uint64_t no_threads_at_opening(const MakeCalls& make, uint64_t wanted) {
  return forbid_new_threads() ? call_often(make(), wanted) : without_filter();
}

uint64_t no_threads_at_first_call(const MakeCalls& make, uint64_t wanted) {
  const auto calls = make();
  return forbid_new_threads() ? call_often(calls, wanted) : without_filter();
}

/// The calling thread has its team, another thread has none.
uint64_t no_threads_later(const MakeCalls& make, uint64_t wanted) {
  const auto calls = make();
  uint64_t wrong = call_all(calls);
  std::latch go(1);
  std::thread other([&] {
    go.wait();
    wrong += call_often(calls, wanted);
  });
  const bool is_forbidden = forbid_new_threads();  // Of the other thread, too.
  if (is_forbidden) wrong += call_often(calls, wanted);
  go.count_down();
  other.join();
  return is_forbidden ? wrong : without_filter();
}

/// A fork() ends OpenBLAS's threads, which it may then not start again. A call may be refused, not wrong.
uint64_t no_threads_after_fork(const MakeCalls& make, uint64_t wanted) {
  const auto calls = make();
  uint64_t wrong = call_all(calls);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  wrong += call_all(calls);
  const pid_t another = ::fork();
  if (another == 0) ::_exit(0);
  ::waitpid(another, nullptr, 0);
  if (!forbid_new_threads()) return without_filter();
  for (uint64_t turn = 0; turn < turns_for(calls, wanted); ++turn) {
    for (const CheckedCall& call : calls) {
      try {
        wrong += call();
      } catch (const Error& error) {
        if (error.code() != ErrorCode::device) ++wrong;
      }
    }
  }
  return wrong;
}

}  // namespace

bool forbid_new_threads() {
  const auto skip_unless = [](long number) {
    return sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1);
  };
  const sock_filter refuse BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN);
  sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                         skip_unless(SYS_clone),
                         refuse,
                         skip_unless(SYS_clone3),
                         refuse,
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{std::size(rules), rules};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

std::span<const ThreadSetting> thread_settings() {
  static const auto& all = *new std::vector<ThreadSetting>{
      {"thread_limit_1", {{"OMP_THREAD_LIMIT", "1"}}, plain},
      {"thread_limit_2", {{"OMP_THREAD_LIMIT", "2"}}, plain},
      {"dynamic_variable", {{"OMP_DYNAMIC", "true"}}, plain},
      {"no_active_levels", {{"OMP_MAX_ACTIVE_LEVELS", "0"}}, plain},
      {"dynamic_teams", {}, dynamic_teams},
      {"nested", {}, nested},
      {"nested_with_teams", {}, nested_with_teams},
      {"nested_with_a_limit", {{"OMP_THREAD_LIMIT", "3"}}, nested_with_teams},
      {"region_of_one", {}, region_of_one},
      {"region_of_one_with_a_limit", {{"OMP_THREAD_LIMIT", "2"}}, region_of_one},
      {"made_in_a_region", {}, made_in_region},
      {"lowered_between_calls", {}, lowered},
      {"no_new_threads_at_opening", {}, no_threads_at_opening},
      {"no_new_threads_at_the_first_call", {}, no_threads_at_first_call},
      {"no_new_threads_later", {}, no_threads_later},
      {"no_new_threads_after_a_fork", {}, no_threads_after_fork},
  };
  return all;
}

}  // namespace attune
