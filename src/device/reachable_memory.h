// SPDX-License-Identifier: MIT
#pragma once
#include "device/device_memory.h"

namespace attune {

/// Memory of a device that lies in this process. A subclass returns the processor's address for an address of it.
class ReachableMemory : public DeviceMemory {
 public:
  void upload(void* to, std::span<const std::byte> from) final;
  void download(std::span<std::byte> to, const void* from) final;
  void copy(void* to, const void* from, uint64_t bytes) final;
  void fill_all(std::span<const PatternArea> areas) override;
  Inspection inspect(std::span<const PatternArea> compared, std::span<const Buffer> hashed) final;
  Protection set_writable(Buffer pages, bool writable) noexcept final;

 protected:
  virtual std::byte* place_of(const void* address) const noexcept = 0;

 private:
  std::span<std::byte> bytes_of(Buffer area) const noexcept { return {place_of(area.data), area.bytes}; }
};

}  // namespace attune
