// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace attune {

/// Kernels that the build compiled for one kind of device (cmake/AttuneCuda.cmake).
struct KernelImage {
  std::string_view kind;       ///< DeviceInfo::kind
  const void* data = nullptr;  ///< Knows its own size.
};

/// Returns the image for a kind of device; null if there is none.
constexpr const void* image_for(std::span<const KernelImage> images, std::string_view kind) noexcept {
  for (const KernelImage& image : images) {
    if (image.kind == kind) return image.data;
  }
  return nullptr;
}

/// Blocks of a launch, in one dimension, and threads of each.
struct LaunchGrid {
  uint32_t blocks = 1, threads = 1;
  uint32_t shared_bytes = 0;  ///< Shared memory of a block that the kernel does not declare itself.
};

}  // namespace attune
