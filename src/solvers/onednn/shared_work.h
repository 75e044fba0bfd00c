// SPDX-License-Identifier: MIT
#pragma once
#include <omp.h>

#include <cstdint>

namespace attune {

/// Below so many elements the calling thread works alone: waking the others would take longer.
inline constexpr int64_t kMinSharedElements = 16'384;

/// Calls `work(begin, end)` with equal parts of 0 … `units` on as many threads as there are in the team.
template <typename Work>
void share_work(int64_t units, int threads, Work work) {
  if (threads <= 1) return work(int64_t{0}, units);
#pragma omp parallel num_threads(threads)
  {
    const int64_t number = omp_get_thread_num(), all = omp_get_num_threads();
    work(units * number / all, units * (number + 1) / all);
  }
}

}  // namespace attune
