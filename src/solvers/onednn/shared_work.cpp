// SPDX-License-Identifier: MIT
#include "solvers/onednn/shared_work.h"

#include <omp.h>

namespace attune {

void share_parts(int64_t units, int threads, WorkOnPart run, void* work) {
  if (threads <= 1) return run(work, 0, units);
#pragma omp parallel num_threads(threads)
  {
    const int64_t number = omp_get_thread_num(), all = omp_get_num_threads();
    run(work, units * number / all, units * (number + 1) / all);
  }
}

}  // namespace attune
