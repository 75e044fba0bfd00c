// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "attune/problem.h"
#include "tensor/kernel_image.h"

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

/// The device text of an op, beside its C++: kernels that compute what the Op does. Const and stateless; thread-safe.
class OpKernels {
 public:
  virtual ~OpKernels() = default;
  /// Computes what Op::reference() does, all rows at once. Empty: the host computes it for this problem, which is
  /// normalised.
  virtual std::optional<ReferenceKernel> reference_kernel(const Problem& problem) const = 0;
};

}  // namespace attune
