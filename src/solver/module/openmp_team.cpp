// SPDX-License-Identifier: MIT
#include "solver/module/openmp_team.h"

#include <omp.h>

#include <chrono>
#include <limits>

#include "solver/new_threads.h"

namespace attune {
namespace {

using Clock = std::chrono::steady_clock;

/// How long the system's answer holds: to ask takes longer than a small product. Where teams of several sizes take
/// turns, libgomp starts threads anew at each larger one.
constexpr auto kAnswerLasts = std::chrono::milliseconds(100);

/// Of the calling thread, which has a team of its own in each OpenMP runtime.
struct OwnTeam {
  int size = 1;                                   ///< Number of threads that it has now.
  int granted = 1;                                ///< Largest size that the system granted.
  int refused = std::numeric_limits<int>::max();  ///< Smallest size that it refused.
  Clock::time_point asked;
};
constinit thread_local OwnTeam own;

/// Starts a team of this size if the system and the runtime grant it, and returns whether they do.
bool starts(int size) noexcept {
  if (!can_start_threads(static_cast<size_t>(size - 1))) return false;
  int got = 0;
#pragma omp parallel num_threads(size)
#pragma omp master
  got = omp_get_num_threads();
  return got == size;
}

/// Whether the team may grow to this size.
__attribute__((cold, noinline)) bool may_grow(int size) noexcept {
  const auto now = Clock::now();
  if (now - own.asked > kAnswerLasts) own = {.size = own.size};
  if (size > own.granted && size < own.refused) {
    (starts(size) ? own.granted : own.refused) = size;
    own.asked = now;
  }
  return size <= own.granted;
}

/// Whether nothing that an application can set makes a team smaller, dynamic teams aside. In a parallel region, even of
/// one thread, others may hold part of the limit, and each team would be started anew.
bool is_unlimited(int size) noexcept {
  return omp_get_level() == 0 && omp_get_max_active_levels() > 0 && omp_get_thread_limit() >= size;
}

}  // namespace

OpenmpTeam::OpenmpTeam(int wanted) noexcept {
  if (wanted <= 1 || !is_unlimited(wanted)) return;
  was_dynamic_ = omp_get_dynamic() != 0;
  if (was_dynamic_) omp_set_dynamic(0);
  if (wanted > own.size && !may_grow(wanted)) return;
  own.size = wanted;
  size_ = wanted;
}

OpenmpTeam::~OpenmpTeam() {
  if (was_dynamic_) omp_set_dynamic(1);
}

}  // namespace attune
