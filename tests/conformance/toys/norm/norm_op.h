// SPDX-License-Identifier: MIT
#pragma once
#include "ops/op.h"

namespace attune::toys {

struct NormShape {
  int64_t token = 0, dim = 0;
  static NormShape of(const Problem& problem) { return {problem.integer("token"), problem.integer("dim")}; }
};
/// Added to the mean square before the root.
inline constexpr double kNormEpsilon = 1e-6;

/// `toy_norm`: y[token,dim] = w[dim] · x[token,dim] / √(mean of the row's squares + kNormEpsilon), in fp32. It shows an
/// op that is no product and whose rows are named otherwise.
class NormOp final : public Op {
 public:
  const FamilySpec& family() const override;
  Work work(const Problem& problem) const override;
  std::vector<TensorSpec> tensors(const Problem& problem) const override;
  void fill(const Problem& problem, Distribution distribution, uint64_t seed,
            const HostTensors& tensors) const override;
  void reference(const Problem& problem, Path path, const HostTensors& tensors,
                 const ReferencePart& out) const override;
  Tolerance tolerance(const Problem& problem) const override;
};

}  // namespace attune::toys
