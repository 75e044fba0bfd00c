// SPDX-License-Identifier: MIT
#include "cublaslt_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.h"
#include "solver/own_library.h"

namespace attune {
namespace {

/// By name, as the loader finds it, and where the toolkit is installed by default. The interface of these functions is
/// the same in both versions.
constexpr const char* kFiles[] = {"libcublasLt.so.13", "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so.13",
                                  "/usr/local/cuda/lib64/libcublasLt.so.12"};

void* open_library() {
  for (const char* file : kFiles) {
    if (void* const loaded = ::dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return loaded;
  }
  std::string reason;
  for (const char* file : kFiles) {
    if (void* const opened = ::dlopen(file, RTLD_NOW | RTLD_LOCAL)) return opened;
    if (reason.empty()) reason = ::dlerror();
  }
  fail(ErrorCode::unavailable, "cuBLASLt cannot be opened, install the CUDA toolkit's libraries: {}", reason);
}

template <typename Function>
void load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr)
    fail(ErrorCode::unavailable, "this cuBLASLt is older than version 12, install a newer one: it has no {}", name);
}

}  // namespace

CublasltLibrary::CublasltLibrary() {
  void* const library = open_library();
#define ATTUNE_CUBLASLT_LOAD(name) load(library, #name, name);
  ATTUNE_CUBLASLT_FUNCTIONS(ATTUNE_CUBLASLT_LOAD)
#undef ATTUNE_CUBLASLT_LOAD
  file_ = library_of(reinterpret_cast<const void*>(cublasLtMatmul));
  require_library(reinterpret_cast<const void*>(cublasLtMatmul), "cublasLtMatmul", "libcublasLt");
}

const CublasltLibrary& CublasltLibrary::get() {
  static const CublasltLibrary& library = *new CublasltLibrary;  // Never destroyed: threads may end after main().
  return library;
}

std::string CublasltLibrary::version() const {
  // 13 × 10000 + 1 × 100 + 0 for 13.1.0, since version 12; `sscanf` order of CUBLAS_VERSION.
  const size_t number = cublasLtGetVersion();
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

void CublasltLibrary::check(cublasStatus_t status, std::string_view action) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const bool is_unsupported = status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
                              status == CUBLAS_STATUS_ARCH_MISMATCH;
  fail(is_unsupported ? ErrorCode::unavailable : ErrorCode::device, "cuBLASLt cannot {}: {}", action,
       cublasLtGetStatusString(status));
}

}  // namespace attune
