// SPDX-License-Identifier: MIT
#include "cublaslt_library.h"

#include <fmt/format.h>

#include "base/library/vendor_library.h"
#include "device/cuda/cublas_facts.h"
#include "solver/own_library.h"

namespace attune {
namespace {

/// By name, as the loader finds it, and where the toolkit is installed by default. The interface of these functions is
/// the same in both versions.
constexpr const char* kFiles[] = {"libcublasLt.so.13", "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so.13",
                                  "/usr/local/cuda/lib64/libcublasLt.so.12"};

constexpr VendorLibrary::Description kDescription{"cuBLASLt", "version 12", "cublasLtGetVersion",
                                                  "install the CUDA toolkit's libraries"};

}  // namespace

CublasltLibrary::CublasltLibrary() {
  const VendorLibrary library = VendorLibrary::open(kDescription, kFiles);
#define ATTUNE_CUBLASLT_LOAD(name) library.load(#name, name);
  ATTUNE_CUBLASLT_FUNCTIONS(ATTUNE_CUBLASLT_LOAD)
#undef ATTUNE_CUBLASLT_LOAD
  require_library(reinterpret_cast<const void*>(cublasLtMatmul), "cublasLtMatmul", "libcublasLt");
}

const CublasltLibrary& CublasltLibrary::get() {
  static const CublasltLibrary& library = *new CublasltLibrary;  // Never destroyed: threads may end after main().
  return library;
}

std::string CublasltLibrary::version() const {
  // 130100 stands for 13.1.0: CUBLAS_VERSION in cublas_api.h, since version 12.
  const size_t number = cublasLtGetVersion();
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

void CublasltLibrary::check(cublasStatus_t status, std::string_view action) const {
  if (status != CUBLAS_STATUS_SUCCESS) fail_cublas(status, kDescription.name, action, cublasLtGetStatusString(status));
}

}  // namespace attune
