// SPDX-License-Identifier: MIT
#pragma once
#include <dlfcn.h>

#include <type_traits>

namespace attune::python {

/// Functions of the libraries that PyTorch's products on a CPU run in; null where it has no such library.
struct ThreadPools {
  ThreadPools() = default;
  /// `library`: an open one of PyTorch's, whose own libraries are searched, too; or null.
  explicit ThreadPools(void* library) {
    if (library == nullptr) return;
    const auto load = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    };
    load("omp_get_max_threads", get_openmp);
    load("omp_set_num_threads", set_openmp);
    load("omp_in_parallel", in_openmp);
    load("openblas_get_num_threads", get_openblas);
    load("openblas_set_num_threads", set_openblas);
    load("MKL_Set_Num_Threads_Local", exchange_mkl);
    if (get_openmp == nullptr) set_openmp = nullptr;
    if (get_openblas == nullptr) set_openblas = nullptr;
  }
  int (*get_openmp)() = nullptr;
  void (*set_openmp)(int) = nullptr;
  int (*in_openmp)() = nullptr;     ///< Whether the caller is in a parallel region.
  int (*get_openblas)() = nullptr;  ///< Debian's; PyTorch does not set its number.
  void (*set_openblas)(int) = nullptr;
  int (*exchange_mkl)(int) = nullptr;  ///< Of the calling thread; 0: the process's number.
};

/// OpenBLAS's number of threads, which others in the process change too.
class OpenblasThreads {
 public:
  explicit OpenblasThreads(const ThreadPools& pools) : pools_(pools) {}
  /// Sets the number that there was when this was made. One that uses OpenMP sets OpenMP's number, too: restore first.
  void restore() const { set(before_); }
  void set(int threads) const {
    if (pools_.set_openblas != nullptr && pools_.get_openblas() != threads) pools_.set_openblas(threads);
  }

 private:
  const ThreadPools& pools_;
  const int before_ = pools_.set_openblas != nullptr ? pools_.get_openblas() : 0;
};

}  // namespace attune::python
