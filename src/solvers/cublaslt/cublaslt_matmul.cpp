// SPDX-License-Identifier: MIT
#include "cublaslt_matmul.h"

#include <array>

#include "base/error.h"
#include "device/cuda/cublas_facts.h"

namespace attune {
namespace {

constexpr uint32_t kAlignment = 16;  // What callers of the op promise.

cublasLtEpilogue_t epilogue_of(const GemmShape& shape) {
  uint32_t epilogue = shape.bias ? CUBLASLT_EPILOGUE_BIAS : 0;
  if (shape.epilogue.act == Activation::relu) epilogue |= CUBLASLT_EPILOGUE_RELU;
  if (shape.epilogue.act == Activation::gelu_tanh) epilogue |= CUBLASLT_EPILOGUE_GELU;
  return epilogue == 0 ? CUBLASLT_EPILOGUE_DEFAULT : static_cast<cublasLtEpilogue_t>(epilogue);
}

}  // namespace

CublasltMatmul::CublasltMatmul(const CublasltLibrary& library, const GemmShape& shape)
    : library_(library),
      shape_(shape),
      where_(GemmOperands::of(shape)),
      input_(static_cast<cudaDataType_t>(cublas_type(shape.in, "cuBLASLt"))),
      output_(static_cast<cudaDataType_t>(cublas_type(shape.out, "cuBLASLt"))),
      description_(nullptr, library.cublasLtMatmulDescDestroy),
      weights_(shape.b_is_kn ? matrix(input_, shape.n, shape.k) : matrix(input_, shape.k, shape.n)),
      activations_(shape.trans_a ? matrix(input_, shape.m, shape.k) : matrix(input_, shape.k, shape.m)),
      result_(matrix(output_, shape.n, shape.m)) {
  cublasLtMatmulDesc_t description = nullptr;
  library_.check(library_.cublasLtMatmulDescCreate(&description, compute_, CUDA_R_32F), "describe a product");
  description_.reset(description);
  set(description, CUBLASLT_MATMUL_DESC_TRANSA, shape.b_is_kn ? CUBLAS_OP_N : CUBLAS_OP_T);
  set(description, CUBLASLT_MATMUL_DESC_TRANSB, shape.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(shape));
  if (shape.bias) set(description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, output_);
}

CublasltMatmul::Matrix CublasltMatmul::matrix(cudaDataType_t type, int64_t rows, int64_t columns) const {
  cublasLtMatrixLayout_t layout = nullptr;
  library_.check(library_.cublasLtMatrixLayoutCreate(&layout, type, static_cast<uint64_t>(rows),
                                                     static_cast<uint64_t>(columns), rows),
                 "describe a matrix");
  return {layout, library_.cublasLtMatrixLayoutDestroy};
}

template <typename Attribute>
void CublasltMatmul::set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t name,
                         const Attribute& value) const {
  library_.check(library_.cublasLtMatmulDescSetAttribute(description, name, &value, sizeof value),
                 "describe a product");
}

std::optional<size_t> CublasltMatmul::workspace_of(cublasLtHandle_t handle,
                                                   const cublasLtMatmulAlgo_t& algorithm) const {
  cublasLtMatmulHeuristicResult_t result{};
  const cublasStatus_t status =
      library_.cublasLtMatmulAlgoCheck(handle, description_.get(), weights_.get(), activations_.get(), result_.get(),
                                       result_.get(), &algorithm, &result);
  if (status != CUBLAS_STATUS_SUCCESS || result.state != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  if (result.workspaceSize > kMaxWorkspaceBytes) return std::nullopt;
  return result.workspaceSize;
}

bool CublasltMatmul::accepts_reduction(cublasLtReductionScheme_t scheme) const noexcept {
  return scheme == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE || output_ == CUDA_R_32F;
}

std::vector<cublasLtMatmulAlgo_t> CublasltMatmul::preferred(cublasLtHandle_t handle, uint64_t workspace_bytes,
                                                            int max_count) const {
  cublasLtMatmulPreference_t made = nullptr;
  library_.check(library_.cublasLtMatmulPreferenceCreate(&made), "state a preference");
  const Owned<cublasLtMatmulPreferenceOpaque_t> preference(made, library_.cublasLtMatmulPreferenceDestroy);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t name, const auto& value) {
    library_.check(library_.cublasLtMatmulPreferenceSetAttribute(made, name, &value, sizeof value),
                   "state a preference");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
  uint32_t schemes = 0;
  for (const auto scheme : {CUBLASLT_REDUCTION_SCHEME_INPLACE, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE,
                            CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE}) {
    if (accepts_reduction(scheme)) schemes |= scheme;
  }
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes);
  for (const auto operand : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                             CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    prefer(operand, kAlignment);
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<size_t>(max_count));
  int count = 0;
  const cublasStatus_t status =
      library_.cublasLtMatmulAlgoGetHeuristic(handle, description_.get(), weights_.get(), activations_.get(),
                                              result_.get(), result_.get(), made, max_count, results.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && count == 0))
    fail(ErrorCode::unavailable, "cuBLASLt has no algorithm for this product, use another solver");
  library_.check(status, "choose an algorithm");
  std::vector<cublasLtMatmulAlgo_t> named;
  for (int i = 0; i < count; ++i) named.push_back(results[static_cast<size_t>(i)].algo);
  return named;
}

void CublasltMatmul::run(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm,
                         std::span<void* const> operands, void* workspace, size_t workspace_bytes, void* stream) const {
  const float alpha = 1, beta = 0;
  // The bias is named in the description, and several threads may run one plan.
  cublasLtMatmulDescOpaque_t own;
  cublasLtMatmulDesc_t description = description_.get();
  if (shape_.bias) {
    own = *description;
    description = &own;
    set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands[where_.bias]);
  }
  library_.check(
      library_.cublasLtMatmul(handle, description, &alpha, operands[where_.b], weights_.get(), operands[where_.a],
                              activations_.get(), &beta, operands[where_.c], result_.get(), operands[where_.c],
                              result_.get(), &algorithm, workspace, workspace_bytes, static_cast<cudaStream_t>(stream)),
      "enqueue a product");
}

}  // namespace attune
