// SPDX-License-Identifier: MIT
#pragma once
#include <span>

#include "tensor/kernel_image.h"

namespace attune {

/// Kernels that are loaded on a device, which must outlive them. Used by the device's thread. Functions throw device.
class KernelModule {
 public:
  virtual ~KernelModule() = default;
  /// Runs a kernel after all work enqueued on streams before, and returns when it is done. `arguments`: the address of
  /// each argument's value.
  virtual void run(const char* kernel, const LaunchGrid& grid, std::span<void* const> arguments) = 0;
};

}  // namespace attune
