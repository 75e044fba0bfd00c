// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "base/pages.h"
#include "device/device_memory.h"

namespace attune {

/// The bytes of an area of a device's memory on the host: the area itself if the processor can read it, else a copy.
/// The copy begins at a page boundary. Valid as long as the area.
class HostBytes {
 public:
  enum class Contents : uint8_t { read, unset };
  /// `unset`: the caller overwrites the bytes, so a copy is not filled. Throws device.
  HostBytes(DeviceMemory& memory, Buffer area, Contents contents = Contents::read);
  HostBytes(HostBytes&&) noexcept = default;
  HostBytes& operator=(HostBytes&&) noexcept = default;

  std::span<std::byte> bytes() noexcept { return bytes_; }
  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// Writes the bytes to the area. Throws device.
  void store();

 private:
  DeviceMemory* memory_;
  void* address_;
  std::vector<std::byte, PageAllocator<std::byte>> copy_;
  std::span<std::byte> bytes_;
};

}  // namespace attune
