// SPDX-License-Identifier: MIT
#include "dispatch/threads/pool_order.h"

#include <dlfcn.h>

#include "base/mutex.h"

namespace attune {
namespace {

template <typename Function>
Function function_of(void* library, const char* name) noexcept {
  return reinterpret_cast<Function>(::dlsym(library, name));
}

const auto tsan_acquire = function_of<void (*)(void*)>(RTLD_DEFAULT, "__tsan_acquire");
const auto tsan_release = function_of<void (*)(void*)>(RTLD_DEFAULT, "__tsan_release");
char pool_token = 0;

/// Calls `act` in each thread of the calling thread's pool, if the process has libgomp.
void in_each_thread(void (*act)(void*)) noexcept {
  void* const pool = ::dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (pool == nullptr) return;
  const auto parallel =
      function_of<void (*)(void (*)(void*), void*, unsigned threads, unsigned flags)>(pool, "GOMP_parallel");
  const auto num_cores = function_of<int (*)()>(pool, "omp_get_num_procs");
  const auto is_inside = function_of<int (*)()>(pool, "omp_in_parallel");
  if (parallel != nullptr && num_cores != nullptr && is_inside != nullptr && is_inside() == 0)
    parallel(act, &pool_token, static_cast<unsigned>(num_cores()), 0);
  ::dlclose(pool);
}

/// Ends the threads of OpenBLAS: they are joined, which ThreadSanitizer sees, and started again by the next call. Not
/// where the application links OpenBLAS itself and may be in it.
void end_openblas_threads() noexcept {
  if (::dlsym(RTLD_DEFAULT, "gotoblas") != nullptr) return;
  void* const library = ::dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  if (const auto shutdown = function_of<int (*)()>(library, "blas_thread_shutdown_")) shutdown();
  ::dlclose(library);
}

constinit Mutex one_run;

}  // namespace

const bool PoolOrder::kIsWatched = tsan_acquire != nullptr && tsan_release != nullptr;

void PoolOrder::begin() noexcept {
  one_run.lock();
  tsan_release(&pool_token);
  in_each_thread(tsan_acquire);
}

void PoolOrder::end() noexcept {
  in_each_thread(tsan_release);
  tsan_acquire(&pool_token);
  end_openblas_threads();
  one_run.unlock();
}

}  // namespace attune
