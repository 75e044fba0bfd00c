// SPDX-License-Identifier: MIT
#include "device/host/host_memory.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "base/error.h"
#include "device/host/host_resources.h"

namespace attune {
namespace {

constexpr uint64_t kMemoryReserveBytes = 256u << 20;
constexpr uint64_t kSmallBytes = 16u << 20;

}  // namespace

Buffer HostMemory::allocate(uint64_t bytes, uint32_t alignment) {
  ATTUNE_CHECK(std::has_single_bit(alignment), "alignment {}", alignment);
  // Linux overcommits and kills a process later, so the available memory is checked first.
  if (bytes >= kSmallBytes) {
    const uint64_t available = available_memory_bytes();
    if (available < kMemoryReserveBytes || bytes > available - kMemoryReserveBytes) {
      fail(ErrorCode::device,
           "not enough free memory; stop other programs or tune a smaller shape: {} MB needed, {} MB available",
           bytes >> 20, available >> 20);
    }
  }
  const uint64_t boundary = std::max<uint64_t>(alignment, 64);
  void* data = std::aligned_alloc(boundary, (std::max<uint64_t>(bytes, 1) + boundary - 1) / boundary * boundary);
  if (data == nullptr)
    fail(ErrorCode::device, "cannot allocate memory; tune a smaller shape: {} MB needed", bytes >> 20);
  return {data, bytes};
}

std::optional<uint64_t> HostMemory::free_bytes() {
  const uint64_t available = available_memory_bytes();
  return available - std::min(available, kMemoryReserveBytes);
}

void HostMemory::release(Buffer buffer) noexcept { std::free(buffer.data); }

}  // namespace attune
