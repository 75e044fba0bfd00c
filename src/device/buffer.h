// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>

namespace attune {

/// An area of a device's memory. `data` is an address of that memory, which only the device and its kernels can reach.
struct Buffer {
  void* data = nullptr;
  uint64_t bytes = 0;

  /// An area within this one.
  Buffer part(uint64_t offset, uint64_t size) const noexcept { return {static_cast<char*>(data) + offset, size}; }
};

/// A value of 1, 2, 4 or 8 bytes that is repeated over an area. It follows the addresses: the byte at address p is byte
/// p mod `bytes` of the value, for any start of the area.
struct Pattern {
  uint64_t value = 0;
  uint32_t bytes = 1;
};

/// An area with the pattern to fill it with or to compare it with.
struct PatternArea {
  Buffer area;
  Pattern pattern;
};

/// The result of comparing an area with a pattern.
struct PatternScan {
  std::optional<uint64_t> first_other;  ///< First byte that differs from the pattern; nothing if none does.
  uint64_t num_equal = 0;               ///< Number of whole elements that equal it.
  uint64_t first_equal = 0;             ///< Index of the first of them.
};

}  // namespace attune
