// SPDX-License-Identifier: MIT
#include "device/host/host_memory.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/pages.h"
#include "device/byte_patterns.h"
#include "device/host/host_resources.h"

namespace attune {
namespace {

constexpr uint64_t kMemoryReserveBytes = 256u << 20;
constexpr uint64_t kSmallBytes = 16u << 20;

std::span<std::byte> bytes_of(Buffer area) { return {static_cast<std::byte*>(area.data), area.bytes}; }

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

void HostMemory::release(Buffer buffer) noexcept { std::free(buffer.data); }

void HostMemory::upload(void* to, std::span<const std::byte> from) { copy(to, from.data(), from.size()); }

void HostMemory::download(std::span<std::byte> to, const void* from) { copy(to.data(), from, to.size()); }

void HostMemory::copy(void* to, const void* from, uint64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void HostMemory::fill(Buffer area, Pattern pattern) { fill_pattern(bytes_of(area), pattern); }

PatternScan HostMemory::scan(Buffer area, Pattern pattern) { return scan_pattern(bytes_of(area), pattern); }

Hash128 HostMemory::hash(Buffer area) { return hash128(std::span<const std::byte>(bytes_of(area))); }

Protection HostMemory::set_writable(Buffer pages, bool writable) noexcept {
  return attune::set_writable(bytes_of(pages), writable) ? Protection::done : Protection::failed;
}

}  // namespace attune
