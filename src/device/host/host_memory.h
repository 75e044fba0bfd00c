// SPDX-License-Identifier: MIT
#pragma once
#include "device/reachable_memory.h"

namespace attune {

/// The memory of this process.
class HostMemory final : public ReachableMemory {
 public:
  /// Also throws device when the system could provide the memory only by killing a process.
  Buffer allocate(uint64_t bytes, uint32_t alignment) override;
  void release(Buffer buffer) noexcept override;
  std::optional<uint64_t> free_bytes() override;
  std::byte* host_address(void* address) noexcept override { return static_cast<std::byte*>(address); }

 private:
  std::byte* place_of(const void* address) const noexcept override {
    return static_cast<std::byte*>(const_cast<void*>(address));
  }
};

}  // namespace attune
