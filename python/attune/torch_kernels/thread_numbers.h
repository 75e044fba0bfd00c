// SPDX-License-Identifier: MIT
#pragma once
#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <string>
#include <type_traits>

namespace attune::python {

/// File of PyTorch's library for the CPU; empty if unknown.
inline std::string pytorch_file() {
  Dl_info found{};
  return dladdr(reinterpret_cast<void*>(&at::get_num_threads), &found) != 0 ? found.dli_fname : "";
}

/// Functions of the libraries that PyTorch's products on a CPU run in; null where it has no such library.
struct ThreadPools {
  ThreadPools() {
    void* const library = dlopen(pytorch_file().c_str(), RTLD_LAZY | RTLD_NOLOAD);  // Its libraries are searched, too.
    if (library == nullptr) return;
    const auto load = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    };
    load("omp_get_max_threads", get_openmp);
    load("omp_set_num_threads", set_openmp);
    load("openblas_get_num_threads", get_openblas);
    load("openblas_set_num_threads", set_openblas);
    load("MKL_Set_Num_Threads_Local", exchange_mkl);
    if (get_openmp == nullptr) set_openmp = nullptr;
    if (get_openblas == nullptr) set_openblas = nullptr;
  }
  int (*get_openmp)() = nullptr;
  void (*set_openmp)(int) = nullptr;
  int (*get_openblas)() = nullptr;  ///< Debian's; PyTorch does not set its number.
  void (*set_openblas)(int) = nullptr;
  int (*exchange_mkl)(int) = nullptr;  ///< Of the calling thread; 0: the process's number.
};
inline const ThreadPools thread_pools;

/// OpenBLAS's number of threads, which others in the process change too.
class OpenblasThreads {
 protected:
  /// Sets the number that there was when this was made. One that uses OpenMP sets OpenMP's number, too: restore first.
  void restore() const { set(before_); }
  static void set(int threads) {
    if (thread_pools.set_openblas != nullptr && thread_pools.get_openblas() != threads)
      thread_pools.set_openblas(threads);
  }

 private:
  const int before_ = thread_pools.set_openblas != nullptr ? thread_pools.get_openblas() : 0;
};

/// Keeps PyTorch's numbers of threads: libraries that share OpenMP or OpenBLAS with it change them.
class KeepNumThreads : OpenblasThreads {
 public:
  ~KeepNumThreads() {
    restore();
    if (at::get_num_threads() != number) at::set_num_threads(number);
  }
  const int number = at::get_num_threads();
};

/// Sets them for PyTorch's own products while it lives. Unlike at::set_num_threads() it leaves the pool alone that
/// PyTorch has for other operators and makes anew for each number, which takes milliseconds.
class SetNumThreads : OpenblasThreads {
 public:
  explicit SetNumThreads(int threads) : openmp_(at::get_num_threads()) {
    if (thread_pools.set_openmp != nullptr && openmp_ != threads) thread_pools.set_openmp(threads);
    if (thread_pools.exchange_mkl != nullptr) mkl_ = thread_pools.exchange_mkl(threads);
    set(threads);
  }
  ~SetNumThreads() {
    restore();
    if (thread_pools.set_openmp != nullptr && thread_pools.get_openmp() != openmp_) thread_pools.set_openmp(openmp_);
    if (thread_pools.exchange_mkl != nullptr) thread_pools.exchange_mkl(mkl_);
  }

 private:
  int openmp_, mkl_ = 0;
};

}  // namespace attune::python
