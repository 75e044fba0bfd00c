// SPDX-License-Identifier: MIT
#include "dispatch/threads/pool_order.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstring>

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

constexpr const char* kOpenblas = "libopenblas.so.0";

/// Counts the libraries of the process that link OpenBLAS.
int count_user(dl_phdr_info* library, size_t, void* count) noexcept {
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    if (library->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* const first = reinterpret_cast<const ElfW(Dyn)*>(library->dlpi_addr + library->dlpi_phdr[i].p_vaddr);
    const char* strings = nullptr;
    for (const auto* entry = first; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    }
    // The loader makes this an address; that of the kernel's own library stays an offset.
    if (reinterpret_cast<uintptr_t>(strings) < library->dlpi_addr) continue;
    for (const auto* entry = first; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_NEEDED && std::strcmp(strings + entry->d_un.d_val, kOpenblas) == 0)
        ++*static_cast<int*>(count);
    }
  }
  return 0;
}

/// Ends the threads of OpenBLAS: they are joined, which ThreadSanitizer sees, and started again by the next call. Not
/// where the application uses the library too, and may be in it.
void end_openblas_threads() noexcept {
  void* const library = ::dlopen(kOpenblas, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  int num_users = 0;
  ::dl_iterate_phdr(count_user, &num_users);
  const auto shutdown = function_of<int (*)()>(library, "blas_thread_shutdown_");
  if (num_users == 1 && ::dlsym(RTLD_DEFAULT, "gotoblas") == nullptr && shutdown != nullptr) shutdown();
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
