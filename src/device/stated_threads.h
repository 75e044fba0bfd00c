// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>

namespace attune {

/// The limit that the environment sets on the threads with which this process runs kernels on its host: the least of
/// ATTUNE_THREADS, OMP_NUM_THREADS, of whose list only the first number counts, and OMP_THREAD_LIMIT.
struct StatedThreads {
  int64_t threads = 0;  ///< 0: no variable sets a limit.
  std::string error;    ///< A sentence about an invalid ATTUNE_THREADS, which is ignored; OpenMP reports its own.
};

/// Reads the environment; no thread may change it meanwhile. Cheap.
StatedThreads stated_threads();

}  // namespace attune
