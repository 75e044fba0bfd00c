// SPDX-License-Identifier: MIT
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attune/problem.h"
#include "ops/distribution.h"
#include "tensor/kernel_image.h"
#include "tensor/tensor_fill.h"

namespace attune {

/// Addresses of the inputs in the device's memory, in Op::tensors() order. Read by kernels too.
struct KernelInputs {
  static constexpr size_t kMaxInputs = 16;
  const void* data[kMaxInputs] = {};
};

/// A kernel that computes the reference of a problem on a device, in double from the same inputs as Op::reference().
/// Its arguments are a KernelInputs, `double* values`, `double* scales` (rows × columns each, row-major), and
/// `problem`, all by value.
struct ReferenceKernel {
  std::span<const KernelImage> images;
  const char* name = nullptr;
  LaunchGrid grid;
  std::vector<std::byte> problem;
};

/// Elements of an operand: `first`, first + stride …
struct OperandStretch {
  size_t operand = 0;  ///< In the order of Op::tensors().
  int64_t first = 0, count = 0, stride = 1;
  auto operator<=>(const OperandStretch&) const = default;
};

/// The device text of an op: kernels that compute what the Op does. Const and stateless; thread-safe.
class OpKernels {
 public:
  virtual ~OpKernels() = default;
  /// Computes what Op::reference() does, all rows at once. Empty: the host computes it for this problem, which is
  /// normalised.
  virtual std::optional<ReferenceKernel> reference_kernel(const Problem& problem) const = 0;
  /// How each input is filled, in the order of Op::tensors(), so that a device does it: Op::fill() writes the same
  /// bytes. Empty (the default): the host fills them.
  virtual std::vector<TensorFill> fills(const Problem&, Distribution, uint64_t /*seed*/) const { return {}; }
  /// What of the inputs one element of the output is computed from. Called where fills() says something.
  virtual std::vector<OperandStretch> inputs_of(const Problem&, int64_t /*row*/, int64_t /*column*/) const {
    return {};
  }
};

}  // namespace attune
