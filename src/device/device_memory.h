// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/hash.h"
#include "device/buffer.h"

namespace attune {

/// Result of DeviceMemory::inspect().
struct Inspection {
  std::vector<PatternScan> scans;  ///< One per compared area.
  std::vector<Hash128> hashes;     ///< One per hashed area.
};

/// Whether an area was made writable or read-only. none: memory of this kind has no protection.
enum class Protection : uint8_t { done, failed, none };

/// The memory of a device. All writes, comparisons and hashes go through it, so its users need no address that the
/// processor can read. All calls return when they are done, and wait for work enqueued on streams before. Thread-safe.
/// Functions throw device.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  /// Allocates uninitialised memory. Throws device, with a remedy, when there is not enough.
  virtual Buffer allocate(uint64_t bytes, uint32_t alignment) = 0;
  virtual void release(Buffer buffer) noexcept = 0;
  /// Bytes that are free now. Other programs may take them before the next allocate(). Nothing (the default): unknown.
  virtual std::optional<uint64_t> free_bytes() { return std::nullopt; }
  virtual void upload(void* to, std::span<const std::byte> from) = 0;
  virtual void download(std::span<std::byte> to, const void* from) = 0;
  /// Copies within the device. The areas do not overlap.
  virtual void copy(void* to, const void* from, uint64_t bytes) = 0;
  /// The next two take many areas, because a device waits once for all of them: some 20 µs, and the time to read or
  /// write the bytes. Filled areas must not overlap.
  virtual void fill_all(std::span<const PatternArea> areas) = 0;
  /// Compares some areas with patterns and hashes others. Equal bytes have equal hashes on every device of a kind. If
  /// the processor can read the memory, the hash is hash128().
  virtual Inspection inspect(std::span<const PatternArea> compared, std::span<const Buffer> hashed) = 0;
  /// Makes whole pages writable (the initial state) or not. A write to pages that are not writable ends the process or
  /// the launch. Takes about 2 µs, and 10 ns for each touched page.
  virtual Protection set_writable(Buffer pages, bool writable) noexcept = 0;
  /// Returns the processor's address for an address of this memory; null if the processor cannot read it.
  virtual std::byte* host_address(void* address) noexcept = 0;

  void fill(Buffer area, Pattern pattern) {
    const PatternArea one{area, pattern};
    fill_all({&one, 1});
  }
  PatternScan scan(Buffer area, Pattern pattern) {
    const PatternArea one{area, pattern};
    return inspect({&one, 1}, {}).scans.front();
  }
  std::vector<Hash128> hash_all(std::span<const Buffer> areas) { return inspect({}, areas).hashes; }
  Hash128 hash(Buffer area) { return hash_all({&area, 1}).front(); }
};

}  // namespace attune
