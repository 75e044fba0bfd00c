// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <memory>
#include <span>

#include "device/device.h"
#include "device/own_buffer.h"
#include "ops/op.h"

namespace attune {

/// A reference in a device's memory: a value and a scale for each element, like Reference.
class DeviceReference {
 public:
  /// Allocates it. Throws device.
  DeviceReference(Device& device, int64_t count);

  int64_t count() const noexcept { return count_; }
  double* values() const noexcept { return static_cast<double*>(values_.data()); }
  double* scales() const noexcept { return static_cast<double*>(scales_.data()); }
  /// Copies elements from `first` on to the host. Throws device.
  void read(int64_t first, std::span<double> values, std::span<double> scales) const;
  double value(int64_t index) const;
  /// Areas of the values and of the scales.
  std::array<Buffer, 2> areas() const noexcept { return {values_.area(), scales_.area()}; }

 private:
  DeviceMemory& memory_;
  int64_t count_;
  OwnBuffer values_, scales_;
};

/// An op's kernel, loaded on a device for one problem.
class DeviceReferenceKernel {
 public:
  /// Returns null where the op has no kernel for this device, or the device loads none. Throws device.
  static std::unique_ptr<DeviceReferenceKernel> open(Device& device, const Op& op, const Problem& problem);
  /// Computes the reference from inputs in the device's memory, in Op::tensors() order. Throws device.
  void compute(std::span<const void* const> inputs, const DeviceReference& out);

 private:
  DeviceReferenceKernel(ReferenceKernel kernel, std::unique_ptr<KernelModule> loaded)
      : kernel_(std::move(kernel)), loaded_(std::move(loaded)) {}

  ReferenceKernel kernel_;
  std::unique_ptr<KernelModule> loaded_;
};

}  // namespace attune
