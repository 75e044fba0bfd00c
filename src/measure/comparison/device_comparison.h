// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include "attune/dtype.h"
#include "device/device.h"
#include "device/own_buffer.h"
#include "measure/comparison/compare.h"
#include "measure/operands/device_reference.h"

namespace attune {

/// Compares outputs with references where they lie in a device's memory.
class DeviceComparison {
 public:
  /// Returns null where the device has no kernels for it, or not for outputs of this type. Throws device.
  static std::unique_ptr<DeviceComparison> open(Device& device, DType dtype);
  /// Like attune::compare(). Equal outputs give equal results. Throws device.
  OutputComparison compare(Buffer got, const DeviceReference& reference, int64_t columns, const Tolerance& tolerance);

 private:
  DeviceComparison(Device& device, DType dtype, std::unique_ptr<KernelModule> kernels)
      : device_(device), dtype_(dtype), kernels_(std::move(kernels)) {}
  Place place(Buffer got, const DeviceReference& reference, int64_t index, int64_t columns) const;

  Device& device_;
  DType dtype_;
  std::unique_ptr<KernelModule> kernels_;
  OwnBuffer answer_;  ///< A part for each block. Kept, because an allocation waits for the device.
};

}  // namespace attune
