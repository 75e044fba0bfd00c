// SPDX-License-Identifier: MIT
#pragma once
#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <string>

#include "thread_pools.h"

namespace attune::python {

/// File of PyTorch's library for the CPU; empty if unknown.
inline std::string pytorch_file() {
  Dl_info found{};
  return dladdr(reinterpret_cast<void*>(&at::get_num_threads), &found) != 0 ? found.dli_fname : "";
}

inline const ThreadPools thread_pools{dlopen(pytorch_file().c_str(), RTLD_LAZY | RTLD_NOLOAD)};

/// Keeps PyTorch's numbers of threads: libraries that share OpenMP or OpenBLAS with it change them.
class KeepNumThreads {
 public:
  ~KeepNumThreads() {
    openblas_.restore();
    if (at::get_num_threads() != number) at::set_num_threads(number);
  }
  const int number = at::get_num_threads();

 private:
  const OpenblasThreads openblas_{thread_pools};
};

/// Sets them for PyTorch's own products while it lives. Unlike at::set_num_threads() it leaves the pool alone that
/// PyTorch has for other operators and makes anew for each number, which takes milliseconds.
class SetNumThreads {
 public:
  explicit SetNumThreads(int threads) : openmp_(at::get_num_threads()) {
    if (thread_pools.set_openmp != nullptr && openmp_ != threads) thread_pools.set_openmp(threads);
    if (thread_pools.exchange_mkl != nullptr) mkl_ = thread_pools.exchange_mkl(threads);
    openblas_.set(threads);
  }
  ~SetNumThreads() {
    openblas_.restore();
    if (thread_pools.set_openmp != nullptr && thread_pools.get_openmp() != openmp_) thread_pools.set_openmp(openmp_);
    if (thread_pools.exchange_mkl != nullptr) thread_pools.exchange_mkl(mkl_);
  }

 private:
  const OpenblasThreads openblas_{thread_pools};
  int openmp_, mkl_ = 0;
};

}  // namespace attune::python
