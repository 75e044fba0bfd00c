// SPDX-License-Identifier: MIT
#pragma once
#include "ops/op.h"

namespace attune::toys {

/// Sizes of a `toy_scaled` problem: c[m,n] = a_scale[m] · b_scale[n] · Σₖ a[m,k]·b[n,k].
struct ScaledShape {
  int64_t m = 0, n = 0, k = 0;
  bool packed = false;  ///< b and b_scale are packed ahead.
  static ScaledShape of(const Problem& problem) {
    return {problem.integer("m"), problem.integer("n"), problem.integer("k"), problem.integer_or("packed", 0) != 0};
  }
};

/// `toy_scaled`: an int8 product with a scale for each row of x and each output, written as bf16. It shows what an op
/// with five operands is made of, two of which may be packed together: this folder.
class ScaledOp final : public Op {
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
