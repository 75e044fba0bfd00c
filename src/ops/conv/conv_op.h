// SPDX-License-Identifier: MIT
#pragma once
#include "ops/op.h"

namespace attune {

/// Convolutions: the output, and the gradients of the input and of the weights (conv_shape.h states the sums). Products
/// are summed in fp32 or wider; padding is zero. The operands, in order:
///   direction=fwd          input, weight → output
///   direction=bwd_data     output_grad, weight → input_grad
///   direction=bwd_weights  input, output_grad → weight_grad
/// Weights of NCHW are K × C/groups × Y × X; in a transposed problem they are C × K/groups × Y × X, as PyTorch holds
/// them. Results of int8 are int32, other results have the type of the inputs.
class ConvOp final : public Op {
 public:
  const FamilySpec& family() const override;
  Problem normalise(const Problem& problem, const DeviceInfo& device) const override;
  Work work(const Problem& problem) const override;
  std::vector<TensorSpec> tensors(const Problem& problem) const override;
  void fill(const Problem& problem, Distribution distribution, uint64_t seed,
            const HostTensors& tensors) const override;
  void reference(const Problem& problem, Path path, const HostTensors& tensors,
                 const ReferencePart& out) const override;
  Tolerance tolerance(const Problem& problem) const override;
};

const FamilySpec& conv_family();

}  // namespace attune
