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
/// type, which exposes a kernel that reads past an end and uses the value.
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
  /// Makes the buffer writable (the initial state) or not. Where the memory has protection, a write to a buffer that is
  /// not writable, or to its guard bands, ends the process.
  Protection set_writable(bool writable) noexcept;
  /// Changes the size in the same memory and guards all of the rest, so the band before the start may be longer than in
  /// a new buffer. The new bands hold no canary yet. Returns false and changes nothing if a new buffer needs more
  /// memory, or so much less that its bands would cost more than an allocation.
  bool reshape(uint64_t bytes, uint32_t alignment) noexcept;

  /// nullopt, or the place where a guard band was overwritten: `3 bytes after its end`, `4 bytes before its start`.
  std::optional<std::string> broken_guard() const;
  void restore_guards();
  static constexpr size_t kNumGuards = 2;
  /// Adds its guard bands, with the canary that they hold.
  void list_guards(std::vector<PatternArea>& areas) const;
  /// Like broken_guard() above, from the scans of the areas that list_guards() added.
  std::optional<std::string> broken_guard(std::span<const PatternScan> guards) const;

 private:
  void place(uint64_t bytes, uint32_t alignment) noexcept;
  Buffer front() const noexcept;
  Buffer back() const noexcept;

  DeviceMemory* memory_;
  OwnBuffer block_;
  Buffer area_;
  uint64_t guard_bytes_ = 0;
};

/// A value that no correct kernel writes: a signalling NaN with a mark in its payload, by element type (integers: the
/// mark alone). Elements that still hold it were never written. Arithmetic on it gives the same value with the quiet
/// bit set.
struct Poison {
  Pattern element;
  Pattern quiet;  ///< Result of arithmetic on it; equal to `element` for integers.
  static Poison of(DType dtype) noexcept;
};

/// A NaN in every float type of 16 bits and more.
inline constexpr Pattern kNanBytes = {0xfff5, 2};

}  // namespace attune
