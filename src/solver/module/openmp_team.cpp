// SPDX-License-Identifier: MIT
#include "solver/module/openmp_team.h"

#include <omp.h>

#include <chrono>
#include <limits>

#include "device/core_binding.h"
#include "solver/threads/new_threads.h"
#include "solver/threads/team_size.h"

namespace attune {
namespace {

using Clock = std::chrono::steady_clock;

/// How long a refusal holds: to ask the system again takes longer than a small product.
constexpr auto kRefusalLasts = std::chrono::milliseconds(100);

/// What is known of the calling thread's teams.
struct Answers {
  int refused = std::numeric_limits<int>::max();  ///< Size that was last refused, and when.
  Clock::time_point refused_at;
};
constinit thread_local Answers answers;

/// Whether a parallel region has all its threads.
bool is_whole(int size) noexcept {
  int got = 0;
#pragma omp parallel num_threads(size)
#pragma omp master
  got = omp_get_num_threads();
  return got == size;
}

/// Makes the calling thread's team larger, its new threads on all cores of the process; returns whether the system and
/// the runtime grant it.
__attribute__((cold, noinline)) bool grows(int from, int to) noexcept {
  const auto now = Clock::now();
  if (to >= answers.refused && now - answers.refused_at < kRefusalLasts) return false;
  if (can_start_threads(static_cast<size_t>(to - from))) {
    const UnboundThread starting(static_cast<size_t>(to));
    if (is_whole(to)) return true;
  }
  answers.refused = to;
  answers.refused_at = now;
  return false;
}

/// Whether nothing that an application can set makes a team smaller, dynamic teams aside. In a parallel region, even of
/// one thread, others may hold part of the limit, and each team would be started anew.
bool is_unlimited(int size) noexcept {
  return omp_get_level() == 0 && omp_get_max_active_levels() > 0 && omp_get_thread_limit() >= size;
}

/// See OpenmpTeam::size().
int size_for(int wanted, bool& was_dynamic) noexcept {
  if (wanted <= 1 || !is_unlimited(wanted)) return 1;
  was_dynamic = omp_get_dynamic() != 0;
  if (was_dynamic) omp_set_dynamic(0);
  const TeamSizes& sizes = team_sizes();
  const int now = sizes.here();
  if (wanted > now && !grows(now, wanted)) return 1;
  if (wanted != now) sizes.set_here(wanted);
  return wanted;
}

}  // namespace

OpenmpThreads::OpenmpThreads(int threads) noexcept : before_(omp_get_max_threads()), is_changed_(threads != before_) {
  if (is_changed_) omp_set_num_threads(threads);
}

OpenmpThreads::~OpenmpThreads() {
  if (is_changed_) omp_set_num_threads(before_);
}

OpenmpTeam::OpenmpTeam(int wanted) noexcept : size_(size_for(wanted, was_dynamic_)), threads_(size_) {}

OpenmpTeam::~OpenmpTeam() {
  if (was_dynamic_) omp_set_dynamic(1);
}

}  // namespace attune
