// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>

namespace attune {

/// Size of a memory page in bytes.
size_t page_bytes() noexcept;
/// Rounds up to whole pages.
uint64_t in_whole_pages(uint64_t bytes) noexcept;

/// Maps fresh zeroed pages that contain nothing else; null without memory.
void* map_pages(uint64_t bytes) noexcept;
void unmap_pages(void* pages, uint64_t bytes) noexcept;

/// Makes whole pages writable or read-only; a write to a read-only page ends the process with SIGSEGV. `memory` starts
/// at a page and is a whole number of pages. Takes about 2 µs, and 10 ns for each touched page. Returns true for an
/// empty span and on success; the system may refuse when the process has too many mappings.
bool set_writable(std::span<const std::byte> memory, bool writable) noexcept;

/// Allocator for containers whose elements need pages of their own, so that they can be protected.
template <typename T>
struct PageAllocator {
  using value_type = T;
  PageAllocator() = default;
  template <typename U>
  explicit(false) PageAllocator(const PageAllocator<U>&) noexcept {}
  T* allocate(size_t count) {
    void* pages = count <= std::numeric_limits<size_t>::max() / sizeof(T) ? map_pages(count * sizeof(T)) : nullptr;
    if (pages == nullptr) throw std::bad_alloc();
    return static_cast<T*>(pages);
  }
  void deallocate(T* elements, size_t count) noexcept { unmap_pages(elements, count * sizeof(T)); }
  bool operator==(const PageAllocator&) const = default;
};

}  // namespace attune
