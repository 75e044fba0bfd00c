// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "cublaslt_library.h"
#include "ops/gemm/gemm_shape.h"

namespace attune {

/// Maximum size of an algorithm's workspace, since each stream of a plan has one of its own.
inline constexpr uint64_t kMaxWorkspaceBytes = 128u << 20;

/// Workspace within which the heuristic chooses, by compute capability (90 of sm_90): what PyTorch gives cuBLAS there
/// (CUBLAS_WORKSPACE_CONFIG's default; 2.5 to 2.9 give 32 MiB to 9.0 alone, later ones to all that follow).
inline uint64_t heuristic_workspace_bytes(int capability) noexcept {
  return capability >= 90 ? uint64_t{32} << 20 : (uint64_t{2} * 4096 + uint64_t{8} * 16) << 10;
}

/// A product of row-major matrices as cuBLASLt describes it: C^T = op(B)·op(A), all in columns. Immutable.
class CublasltMatmul {
 public:
  /// Throws unavailable for types that the library has no product of.
  CublasltMatmul(const CublasltLibrary& library, const GemmShape& shape);

  const GemmShape& shape() const noexcept { return shape_; }
  cublasComputeType_t compute_type() const noexcept { return compute_; }
  cudaDataType_t input_type() const noexcept { return input_; }
  cudaDataType_t output_type() const noexcept { return output_; }
  /// Size of an algorithm's workspace; nothing where the library cannot run it within kMaxWorkspaceBytes.
  std::optional<size_t> workspace_of(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm) const;
  /// Whether the sums of parts of K become wider than the result before they are added, which verification asks for.
  bool accepts_reduction(cublasLtReductionScheme_t scheme) const noexcept;
  /// The first `max_count` that the library's heuristic names within a workspace, of those whose reductions are
  /// accepted; at least one. Throws unavailable when it has none.
  std::vector<cublasLtMatmulAlgo_t> preferred(cublasLtHandle_t handle, uint64_t workspace_bytes, int max_count) const;
  /// Enqueues the product. Any thread whose current context is the device's.
  void run(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm, std::span<void* const> operands,
           void* workspace, size_t workspace_bytes, void* stream) const;

 private:
  template <typename Opaque>
  using Owned = std::unique_ptr<Opaque, cublasStatus_t (*)(Opaque*)>;
  using Matrix = Owned<cublasLtMatrixLayoutOpaque_t>;
  Matrix matrix(cudaDataType_t type, int64_t rows, int64_t columns) const;
  template <typename Attribute>
  void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t name, const Attribute& value) const;

  const CublasltLibrary& library_;
  GemmShape shape_;
  GemmOperands where_;
  cudaDataType_t input_, output_;
  cublasComputeType_t compute_ = CUBLAS_COMPUTE_32F;
  Owned<cublasLtMatmulDescOpaque_t> description_;
  Matrix weights_, activations_, result_;
};

}  // namespace attune
