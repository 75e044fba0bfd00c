// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>

namespace attune {

/// The environment's limit on the threads with which this process runs kernels on its host. It is the least of
/// ATTUNE_THREADS, OMP_THREAD_LIMIT and the first number of OMP_NUM_THREADS.
struct EnvironmentThreads {
  int64_t threads = 0;  ///< 0: no variable sets a limit.
  std::string error;    ///< A sentence about an invalid ATTUNE_THREADS, which is ignored; OpenMP reports its own.
};

/// Reads the environment; no other thread may change it during the call. Cheap.
EnvironmentThreads environment_threads();

}  // namespace attune
