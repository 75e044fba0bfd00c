// SPDX-License-Identifier: MIT
#pragma once
#include <utility>

#include "device/device_memory.h"

namespace attune {

/// An allocation that ends with its owner. The memory must outlive it.
class OwnBuffer {
 public:
  OwnBuffer() = default;
  /// Throws like DeviceMemory::allocate().
  OwnBuffer(DeviceMemory& memory, uint64_t bytes, uint32_t alignment)
      : memory_(&memory), area_(memory.allocate(bytes, alignment)) {}
  ~OwnBuffer() { reset(); }
  OwnBuffer(OwnBuffer&& other) noexcept : memory_(other.memory_), area_(std::exchange(other.area_, {})) {}
  OwnBuffer& operator=(OwnBuffer&& other) noexcept {
    if (this == &other) return *this;
    reset();
    memory_ = other.memory_;
    area_ = std::exchange(other.area_, {});
    return *this;
  }

  Buffer area() const noexcept { return area_; }
  void* data() const noexcept { return area_.data; }
  void reset() noexcept {
    if (area_.data != nullptr) memory_->release(std::exchange(area_, {}));
  }

 private:
  DeviceMemory* memory_ = nullptr;
  Buffer area_;
};

}  // namespace attune
