// SPDX-License-Identifier: MIT
#pragma once
#include <cublasLt.h>

namespace attune {

/// Functions of libcublasLt that this solver calls; X is a macro of one name.
#define ATTUNE_CUBLASLT_FUNCTIONS(X)      \
  X(cublasLtCreate)                       \
  X(cublasLtDestroy)                      \
  X(cublasLtGetVersion)                   \
  X(cublasLtGetStatusString)              \
  X(cublasLtMatmul)                       \
  X(cublasLtMatmulDescCreate)             \
  X(cublasLtMatmulDescDestroy)            \
  X(cublasLtMatmulDescSetAttribute)       \
  X(cublasLtMatrixLayoutCreate)           \
  X(cublasLtMatrixLayoutDestroy)          \
  X(cublasLtMatmulPreferenceCreate)       \
  X(cublasLtMatmulPreferenceDestroy)      \
  X(cublasLtMatmulPreferenceSetAttribute) \
  X(cublasLtMatmulAlgoGetIds)             \
  X(cublasLtMatmulAlgoInit)               \
  X(cublasLtMatmulAlgoCheck)              \
  X(cublasLtMatmulAlgoGetHeuristic)       \
  X(cublasLtMatmulAlgoCapGetAttribute)    \
  X(cublasLtMatmulAlgoConfigGetAttribute) \
  X(cublasLtMatmulAlgoConfigSetAttribute)

struct CublasltFunctions {
#define ATTUNE_CUBLASLT_MEMBER(name) decltype(&::name) name = nullptr;
  ATTUNE_CUBLASLT_FUNCTIONS(ATTUNE_CUBLASLT_MEMBER)
#undef ATTUNE_CUBLASLT_MEMBER
};

}  // namespace attune
