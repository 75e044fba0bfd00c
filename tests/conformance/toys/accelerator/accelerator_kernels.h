// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <span>

#include "device/device_kind.h"
#include "device/kernel_module.h"

namespace attune::toys {

class Accelerator;

/// The program's own kernels for the toy accelerator: references of products, and comparison.
std::span<const KindKernel> accelerator_kernels();
/// Loads the image of one of them.
std::unique_ptr<KernelModule> load_accelerator_kernel(Accelerator& device, const void* image);

}  // namespace attune::toys
