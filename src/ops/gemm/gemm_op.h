// SPDX-License-Identifier: MIT
#pragma once
#include "ops/gemm/gemm_shape.h"
#include "ops/op.h"

namespace attune {

/// `gemm_a16w16`: fp32, bf16 and fp16 products with fp32 (or wider) accumulation.
class GemmOp final : public Op, private OpKernels {
 public:
  const FamilySpec& family() const override;
  Problem normalise(const Problem& problem, const DeviceInfo& device) const override;
  Work work(const Problem& problem) const override;
  std::vector<TensorSpec> tensors(const Problem& problem) const override;
  void fill(const Problem& problem, Distribution distribution, uint64_t seed,
            const HostTensors& tensors) const override;
  void reference(const Problem& problem, Path path, const HostTensors& tensors,
                 const ReferencePart& out) const override;
  std::vector<SpecialValue> special_values(const Problem& problem) const override;
  const OpKernels* kernels() const override { return this; }
  Tolerance tolerance(const Problem& problem) const override;

 private:
  std::optional<ReferenceKernel> reference_kernel(const Problem& problem) const override;
  std::vector<TensorFill> fills(const Problem& problem, Distribution distribution, uint64_t seed) const override;
  std::vector<OperandStretch> inputs_of(const Problem& problem, int64_t row, int64_t column) const override;
};

}  // namespace attune
