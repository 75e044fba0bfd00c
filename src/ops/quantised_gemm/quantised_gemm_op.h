// SPDX-License-Identifier: MIT
#pragma once
#include "ops/op.h"

namespace attune {

/// Products of 8-bit and 4-bit matrices whose elements share scales. Sums of int8 products are exact, sums of floats
/// are fp32 or wider; the scales and the bias are applied in fp32 or wider.
class QuantisedGemmOp final : public Op {
 public:
  /// `family` must outlive it.
  explicit QuantisedGemmOp(const FamilySpec& family) : family_(family) {}
  const FamilySpec& family() const override { return family_; }
  Work work(const Problem& problem) const override;
  std::vector<TensorSpec> tensors(const Problem& problem) const override;
  void fill(const Problem& problem, Distribution distribution, uint64_t seed,
            const HostTensors& tensors) const override;
  void reference(const Problem& problem, Path path, const HostTensors& tensors,
                 const ReferencePart& out) const override;
  std::vector<SpecialValue> special_values(const Problem& problem) const override;
  Tolerance tolerance(const Problem& problem) const override;

 private:
  const FamilySpec& family_;
};

/// `gemm_a8w8`: one scale a row of a and of b, or one a matrix.
const FamilySpec& gemm_a8w8_family();
/// `gemm_a8w8_blockscale`: one fp32 scale for each 1×128 elements of a and 128×128 of b.
const FamilySpec& gemm_a8w8_blockscale_family();
/// `gemm_a4w4_blockscale`: one e8m0 scale for each 32 elements of a row (MXFP4).
const FamilySpec& gemm_a4w4_blockscale_family();

}  // namespace attune
