// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "attune/dtype.h"
#include "device/device.h"

namespace attune {

/// Memory of a device that the host can address (host and fake), between guard bands that hold a canary. The data start
/// at a multiple of `alignment` but never at a multiple of twice that, so that a kernel gets exactly the promised
/// alignment. The canary is a NaN in every float type, so that a kernel that reads past an end and uses the value is
/// found out.
class GuardedBuffer {
 public:
  static constexpr uint64_t kGuardElements = 128;

  /// `element_bytes`: guard bands are at least kGuardElements of them (and at least 1 KiB). Throws Error{device}.
  GuardedBuffer(Device& device, uint64_t bytes, uint32_t alignment, uint32_t element_bytes);
  ~GuardedBuffer();
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&&) = delete;

  std::byte* data() const noexcept { return data_; }
  uint64_t bytes() const noexcept { return bytes_; }
  std::span<std::byte> span() const noexcept { return {data_, bytes_}; }
  /// Makes the buffer writable (as it is at first) or not. While it is not, a write to it or its guard bands ends the
  /// process.
  void set_writable(bool writable) noexcept;

  /// nullopt, or the place where a guard band was overwritten: `3 bytes after its end`, `4 bytes before its start`.
  std::optional<std::string> broken_guard() const;
  void restore_guards() noexcept;

 private:
  std::span<std::byte> front() const noexcept;
  std::span<std::byte> back() const noexcept;

  Device* device_;
  Buffer block_;
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0, guard_bytes_ = 0;
};

/// A value that no correct kernel writes: a signalling NaN with a mark in its payload, by element type (integers: the
/// mark alone). Elements that still hold it were never written; arithmetic on it gives the same value with the quiet
/// bit set.
struct Poison {
  uint64_t bits = 0;   ///< In the low bits of an element.
  uint64_t quiet = 0;  ///< Result of arithmetic on it; equal to `bits` for integers.
  uint32_t bytes = 0;  ///< Size of an element.
  static Poison of(DType dtype) noexcept;
};

/// Fills whole elements with the poison, or any bytes with a NaN of every float type.
void fill_poison(DType dtype, std::span<std::byte> out) noexcept;
void fill_nan_bytes(std::span<std::byte> out) noexcept;

}  // namespace attune
