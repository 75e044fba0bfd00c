// SPDX-License-Identifier: MIT
#pragma once
#include <cublas_v2.h>

namespace attune {

/// Functions of libcublas that this solver calls, by the names that the library exports; X is a macro of one name.
#define ATTUNE_CUBLAS_FUNCTIONS(X) \
  X(cublasCreate_v2)               \
  X(cublasDestroy_v2)              \
  X(cublasGetProperty)             \
  X(cublasGetStatusString)         \
  X(cublasSetStream_v2)            \
  X(cublasSetWorkspace_v2)

struct CublasFunctions {
#define ATTUNE_CUBLAS_MEMBER(name) decltype(&::name) name = nullptr;
  ATTUNE_CUBLAS_FUNCTIONS(ATTUNE_CUBLAS_MEMBER)
#undef ATTUNE_CUBLAS_MEMBER
  /// The header has two functions of this name; the library exports the one with a type of the computation.
  cublasStatus_t(CUBLASWINAPI* cublasGemmEx)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n, int k,
                                             const void* alpha, const void* a, cudaDataType, int lda, const void* b,
                                             cudaDataType, int ldb, const void* beta, void* c, cudaDataType, int ldc,
                                             cublasComputeType_t, cublasGemmAlgo_t) = nullptr;
};

}  // namespace attune
