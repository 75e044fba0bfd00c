// SPDX-License-Identifier: MIT
#pragma once
#include "ops/gemm/gemm_shape.h"
#include "ops/op.h"

namespace attune {

/// `gemm_a16w16`: fp32, bf16 and fp16 products with fp32 (or wider) accumulation.
class GemmOp final : public Op {
 public:
  std::string_view name() const override { return "gemm_a16w16"; }
  std::span<const AttributeSpec> schema() const override;
  const FamilySpec& family() const override;
  Problem normalise(const Problem& problem, const DeviceInfo& device) const override;
  Work work(const Problem& problem) const override;
  std::vector<TensorSpec> tensors(const Problem& problem) const override;
  void fill(const Problem& problem, Distribution distribution, uint64_t seed,
            const HostTensors& tensors) const override;
  void reference(const Problem& problem, Path path, const HostTensors& tensors,
                 const ReferencePart& out) const override;
  std::optional<ReferenceKernel> reference_kernel(const Problem& problem) const override;
  int64_t output_rows(const Problem& problem) const override;
  Tolerance tolerance(const Problem& problem) const override;
};

}  // namespace attune
