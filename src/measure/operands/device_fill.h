// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <span>
#include <utility>

#include "device/device.h"
#include "ops/op.h"

namespace attune {

/// Writes a problem's inputs in a device's memory, with the bytes of Op::fill().
class DeviceFill {
 public:
  /// Returns null if the op does not define how its inputs are filled (OpKernels::fills()), kernels do not write the
  /// type of an input, or the device has no kernel for it. Throws device.
  static std::unique_ptr<DeviceFill> open(Device& device, const Op& op, const Problem& problem);
  /// `inputs`: in Op::tensors() order, without the output. Throws device.
  void fill(Distribution distribution, uint64_t seed, std::span<const Buffer> inputs);
  /// Writes one input with the bytes of fill_tensor(); its type is one of is_kernel_dtype(). Throws device.
  void fill(const TensorFill& how, const Buffer& input);

 private:
  DeviceFill(Device& device, const OpKernels& kernels, Problem problem, std::unique_ptr<KernelModule> loaded)
      : device_(device), kernels_(kernels), problem_(std::move(problem)), loaded_(std::move(loaded)) {}

  Device& device_;
  const OpKernels& kernels_;
  Problem problem_;
  std::unique_ptr<KernelModule> loaded_;
};

}  // namespace attune
