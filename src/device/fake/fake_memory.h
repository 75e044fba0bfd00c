// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <functional>
#include <utility>
#include <vector>

#include "device/reachable_memory.h"

namespace attune {

/// Memory that the processor cannot read, like a GPU's. Its addresses have their highest bit set, which no address of a
/// process has, and an access through one ends the process. Addresses without that bit are the process's own memory,
/// which a fake device reaches too. Pages can be made read-only for its kernels.
class FakeMemory final : public ReachableMemory {
 public:
  /// `on_wait` (may be empty): called where a GPU would wait for all its work.
  explicit FakeMemory(uint64_t capacity_bytes, std::function<void()> on_wait = {})
      : capacity_bytes_(capacity_bytes), on_wait_(std::move(on_wait)) {}

  /// Number of bytes allocated and not released.
  uint64_t allocated_bytes() const noexcept { return allocated_bytes_.load(); }
  /// Returns the address at which a kernel of the device finds an address of this memory.
  static std::byte* reach(const void* address) noexcept;
  /// Like above, for the operands of a launch.
  static std::vector<void*> reach(std::span<void* const> operands);

  Buffer allocate(uint64_t bytes, uint32_t alignment) override;
  void release(Buffer buffer) noexcept override;
  std::optional<uint64_t> free_bytes() override;
  void fill_all(std::span<const PatternArea> areas) override;
  std::byte* host_address(void*) noexcept override { return nullptr; }

 private:
  std::byte* place_of(const void* address) const noexcept override { return reach(address); }

  uint64_t capacity_bytes_;
  std::function<void()> on_wait_;
  std::atomic<uint64_t> allocated_bytes_{0};
};

}  // namespace attune
