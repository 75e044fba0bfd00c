// SPDX-License-Identifier: MIT
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace attune {

/// Allocator for large arrays with random access: from 1 MiB on it requests pages of 2 MiB, which save the page-table
/// walk of each access where the kernel has them.
template <typename T>
struct HugePages {
  using value_type = T;
  HugePages() = default;
  template <typename Other>
  HugePages(const HugePages<Other>&) noexcept {}

  T* allocate(size_t count) {
    constexpr size_t kPage = size_t{2} << 20, kMinBytes = size_t{1} << 20, kLine = 64;
    const size_t bytes = count * sizeof(T);
    const size_t boundary = bytes < kMinBytes ? kLine : kPage;
    const size_t rounded = (bytes + boundary - 1) / boundary * boundary;
    void* memory = std::aligned_alloc(boundary, rounded);
    if (memory == nullptr) throw std::bad_alloc();
    if (boundary == kPage) ::madvise(memory, rounded, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) noexcept { std::free(memory); }
  bool operator==(const HugePages&) const = default;
};

}  // namespace attune
