// SPDX-License-Identifier: MIT
#pragma once
#include <array>

#include "attune/plan.h"
#include "ops/gemm/gemm_op.h"

namespace attune {

/// Rows, columns and depth of one kernel call; tiles at an edge are smaller.
struct LibxsmmTiles {
  int64_t m = 1, n = 1, k = 1;
};

/// A GEMM as a loop of libxsmm kernels over tiles, divided among a libgomp team. libxsmm is column-major: it computes
/// Cᵀ = B·Aᵀ, and as it supports no transposed first operand, weights stored N×K are transposed tile by tile into the
/// workspace, inside the measured time. Re-entrant.
class LibxsmmPlan final : public Plan {
 public:
  /// Generates the kernels. Throws unavailable when libxsmm cannot generate one.
  LibxsmmPlan(const GemmShape& shape, const LibxsmmTiles& tiles, int threads);
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override;

 private:
  struct Work;
  /// Takes the first and second operand and the result, column-major.
  using Kernel = void (*)(const void* a, const void* b, void* c, ...);
  /// Whether a tile is smaller than the regular one in each dimension, and whether it adds to C.
  struct Variant {
    bool rest_m, rest_n, rest_k, adds;
    size_t index() const { return size_t{rest_m} * 8 + size_t{rest_n} * 4 + size_t{rest_k} * 2 + size_t{adds}; }
  };

  bool packs() const { return !shape_.b_is_kn; }
  void generate(const Variant& variant);
  void set_to_bias(const void* bias, std::byte* c) const;
  void run_share(const Work& work, int64_t thread, int64_t team) const;
  const std::byte* weights(const Work& work, int64_t column, int64_t depth, std::byte* panel) const;

  GemmShape shape_;
  LibxsmmTiles tiles_;
  int threads_;
  uint64_t panel_bytes_ = 0;  ///< Size of one thread's transposed tile of weights.
  std::array<Kernel, 16> kernels_{};
  PlanTraits traits_;
};

}  // namespace attune
