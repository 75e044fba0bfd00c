// SPDX-License-Identifier: MIT
#pragma once
#include "device/device_memory.h"

namespace attune {

/// The memory of this process.
class HostMemory final : public DeviceMemory {
 public:
  /// Also throws device when the system could provide the memory only by killing a process.
  Buffer allocate(uint64_t bytes, uint32_t alignment) override;
  void release(Buffer buffer) noexcept override;
  void upload(void* to, std::span<const std::byte> from) override;
  void download(std::span<std::byte> to, const void* from) override;
  void copy(void* to, const void* from, uint64_t bytes) override;
  void fill(Buffer area, Pattern pattern) override;
  PatternScan scan(Buffer area, Pattern pattern) override;
  Hash128 hash(Buffer area) override;
  Protection set_writable(Buffer pages, bool writable) noexcept override;
  std::byte* host_address(void* address) noexcept override { return static_cast<std::byte*>(address); }
};

}  // namespace attune
