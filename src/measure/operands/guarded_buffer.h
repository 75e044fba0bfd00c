// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attune/dtype.h"
#include "device/device.h"
#include "device/own_buffer.h"

namespace attune {

/// Memory of a device between guard bands that hold a canary. The data start at a multiple of `alignment` but never at
/// a multiple of twice that, so that a kernel gets exactly the promised alignment. The canary is a NaN in every float
/// type, so that a kernel that reads past an end and uses the value is found out.
class GuardedBuffer {
 public:
  static constexpr uint64_t kGuardElements = 128;

  /// `element_bytes`: guard bands are at least kGuardElements of them (and at least 1 KiB). Throws Error{device}.
  GuardedBuffer(Device& device, uint64_t bytes, uint32_t alignment, uint32_t element_bytes);
  ~GuardedBuffer();
  GuardedBuffer(GuardedBuffer&& other) noexcept = default;
  GuardedBuffer& operator=(GuardedBuffer&&) = delete;

  void* data() const noexcept { return area_.data; }
  uint64_t bytes() const noexcept { return area_.bytes; }
  Buffer area() const noexcept { return area_; }
  DeviceMemory& memory() const noexcept { return *memory_; }
  /// Makes the buffer writable (as it is at first) or not. While it is not, a write to it or its guard bands ends the
  /// process, where the memory has protection.
  Protection set_writable(bool writable) noexcept;

  /// nullopt, or the place where a guard band was overwritten: `3 bytes after its end`, `4 bytes before its start`.
  std::optional<std::string> broken_guard() const;
  void restore_guards();
  /// The same for many buffers of one device, which waits once for all.
  static std::vector<std::optional<std::string>> broken_guards(std::span<const GuardedBuffer* const> buffers);
  void list_guards(std::vector<Buffer>& areas) const { areas.insert(areas.end(), {back(), front()}); }

 private:
  Buffer front() const noexcept;
  Buffer back() const noexcept;

  DeviceMemory* memory_;
  OwnBuffer block_;
  Buffer area_;
  uint64_t guard_bytes_ = 0;
};

/// A value that no correct kernel writes: a signalling NaN with a mark in its payload, by element type (integers: the
/// mark alone). Elements that still hold it were never written; arithmetic on it gives the same value with the quiet
/// bit set.
struct Poison {
  Pattern element;
  Pattern quiet;  ///< Result of arithmetic on it; equal to `element` for integers.
  static Poison of(DType dtype) noexcept;
};

/// A NaN in every float type of 16 bits and more.
inline constexpr Pattern kNanBytes = {0xfff5, 2};

}  // namespace attune
