// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>

namespace attune {

/// Bytes of a page of memory.
size_t page_bytes() noexcept;
/// Rounded up to whole pages.
uint64_t in_whole_pages(uint64_t bytes) noexcept;

/// Fresh zeroed pages of this process that nothing else lies in; null without memory.
void* map_pages(uint64_t bytes) noexcept;
void unmap_pages(void* pages, uint64_t bytes) noexcept;

/// Lets whole pages be written to, or not: then a write ends the process with SIGSEGV. `memory` starts at a page and is
/// a number of them. About 2 µs, and 10 ns for each page that was touched. True for an empty span, and when the system
/// did it: it may have too many pieces of memory to tell apart.
bool set_writable(std::span<const std::byte> memory, bool writable) noexcept;

/// For a container whose elements have their pages to themselves, so that they can be protected.
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
