// SPDX-License-Identifier: MIT
#include "device/fake/fake_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace attune {
namespace {

constexpr uintptr_t kDeviceBit = uintptr_t{1} << 63;
constexpr int kUnset = 0xcd;  // Byte that fills allocated memory, whose content is undefined.

}  // namespace

std::byte* FakeMemory::reach(const void* address) noexcept {
  return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(address) & ~kDeviceBit);
}

std::vector<void*> FakeMemory::reach(std::span<void* const> operands) {
  std::vector<void*> reached;
  for (const void* operand : operands) reached.push_back(reach(operand));
  return reached;
}

Buffer FakeMemory::allocate(uint64_t bytes, uint32_t alignment) {
  const uint64_t before = allocated_bytes_.fetch_add(bytes);
  if (before > capacity_bytes_ || bytes > capacity_bytes_ - before) {
    allocated_bytes_ -= bytes;
    fail(ErrorCode::device, "the fake device is out of memory: {} bytes requested, {} of {} free", bytes,
         capacity_bytes_ - std::min(before, capacity_bytes_), capacity_bytes_);
  }
  const uint64_t boundary = std::max<uint64_t>(alignment, 64);
  const uint64_t size = (std::max<uint64_t>(bytes, 1) + boundary - 1) / boundary * boundary;
  void* data = std::aligned_alloc(boundary, size);
  if (data == nullptr) {
    allocated_bytes_ -= bytes;
    fail(ErrorCode::device, "cannot allocate host memory for the fake device: {} bytes", bytes);
  }
  std::memset(data, kUnset, size);
  return {reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(data) | kDeviceBit), bytes};
}

std::optional<uint64_t> FakeMemory::free_bytes() {
  return capacity_bytes_ - std::min(allocated_bytes_.load(), capacity_bytes_);
}

void FakeMemory::fill_all(std::span<const PatternArea> areas) {
  if (on_wait_) on_wait_();
  ReachableMemory::fill_all(areas);
}

void FakeMemory::release(Buffer buffer) noexcept {
  if (buffer.data == nullptr) return;
  std::free(reach(buffer.data));
  allocated_bytes_ -= buffer.bytes;
}

}  // namespace attune
