// SPDX-License-Identifier: MIT
#include "cublas_library.h"

#include <fmt/format.h>

#include "base/library/vendor_library.h"
#include "device/cuda/cublas_facts.h"
#include "solver/own_library.h"

namespace attune {
namespace {

/// By name, as the loader finds it, and where the toolkit is installed by default.
constexpr const char* kFiles[] = {"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so.13",
                                  "/usr/local/cuda/lib64/libcublas.so.12"};

constexpr VendorLibrary::Description kDescription{"cuBLAS", "version 12", "cublasGemmEx",
                                                  "install the CUDA toolkit's libraries"};

}  // namespace

CublasLibrary::CublasLibrary() {
  const VendorLibrary library = VendorLibrary::open(kDescription, kFiles);
#define ATTUNE_CUBLAS_LOAD(name) library.load(#name, name);
  ATTUNE_CUBLAS_FUNCTIONS(ATTUNE_CUBLAS_LOAD)
#undef ATTUNE_CUBLAS_LOAD
  library.load("cublasGemmEx", cublasGemmEx);
  require_library(reinterpret_cast<const void*>(cublasGemmEx), "cublasGemmEx", "libcublas.so");
}

const CublasLibrary& CublasLibrary::get() {
  static const CublasLibrary& library = *new CublasLibrary;  // Never destroyed: threads may end after main().
  return library;
}

std::string CublasLibrary::version() const {
  const auto part = [this](libraryPropertyType which) {
    int value = 0;
    check(cublasGetProperty(which, &value), "state its version");
    return value;
  };
  return fmt::format("{}.{}.{}", part(MAJOR_VERSION), part(MINOR_VERSION), part(PATCH_LEVEL));
}

void CublasLibrary::check(cublasStatus_t status, std::string_view action) const {
  if (status != CUBLAS_STATUS_SUCCESS) fail_cublas(status, kDescription.name, action, cublasGetStatusString(status));
}

}  // namespace attune
