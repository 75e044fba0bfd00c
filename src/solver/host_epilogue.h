// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "attune/plan.h"
#include "ops/gemm/gemm_shape.h"

namespace attune {

/// The bias and the epilogue of one call on a host, in fp32, an element at a time: for kernels that end with a sum.
/// Some 10 ns an element with an activation, which libm computes. A value; valid while the launch's operands are. A
/// change of what it computes needs a new version of the solvers that use it (portable, fake).
class HostEpilogue {
 public:
  HostEpilogue(const GemmShape& shape, const Launch& launch);
  /// Element (row, column) of the result before it is rounded to its type. `sum` is ignored where alpha is 0. One
  /// function for all callers, never inlined, so that every element is rounded alike whichever loop it comes from.
  float finish(float sum, int64_t row, int64_t column) const;

 private:
  GemmEpilogue epilogue_;
  DType in_, out_;
  int64_t n_;
  float alpha_ = 1, beta_ = 1, out_scale_ = 1;
  const std::byte *bias_ = nullptr, *residual_ = nullptr;
};

}  // namespace attune
