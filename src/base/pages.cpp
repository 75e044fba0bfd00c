// SPDX-License-Identifier: MIT
#include "base/pages.h"

#include <sys/mman.h>
#include <unistd.h>

namespace attune {

size_t page_bytes() noexcept {
  static const auto bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

uint64_t in_whole_pages(uint64_t bytes) noexcept { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

void* map_pages(uint64_t bytes) noexcept {
  void* pages = ::mmap(nullptr, in_whole_pages(bytes > 0 ? bytes : 1), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

void unmap_pages(void* pages, uint64_t bytes) noexcept { ::munmap(pages, in_whole_pages(bytes > 0 ? bytes : 1)); }

bool set_writable(std::span<const std::byte> memory, bool writable) noexcept {
  if (memory.empty()) return true;
  const int rights = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  return ::mprotect(const_cast<std::byte*>(memory.data()), memory.size(), rights) == 0;
}

}  // namespace attune
