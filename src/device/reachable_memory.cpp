// SPDX-License-Identifier: MIT
#include "device/reachable_memory.h"

#include <cstring>

#include "base/pages.h"
#include "device/byte_patterns.h"

namespace attune {

void ReachableMemory::upload(void* to, std::span<const std::byte> from) { copy(to, from.data(), from.size()); }

void ReachableMemory::download(std::span<std::byte> to, const void* from) { copy(to.data(), from, to.size()); }

void ReachableMemory::copy(void* to, const void* from, uint64_t bytes) {
  if (bytes > 0) std::memcpy(place_of(to), place_of(from), bytes);
}

void ReachableMemory::fill_all(std::span<const PatternArea> areas) {
  for (const auto& [area, pattern] : areas) fill_pattern(bytes_of(area), pattern);
}

Inspection ReachableMemory::inspect(std::span<const PatternArea> compared, std::span<const Buffer> hashed) {
  Inspection found;
  for (const auto& [area, pattern] : compared) found.scans.push_back(scan_pattern(bytes_of(area), pattern));
  for (const Buffer& area : hashed) found.hashes.push_back(hash128(std::span<const std::byte>(bytes_of(area))));
  return found;
}

Protection ReachableMemory::set_writable(Buffer pages, bool writable) noexcept {
  return attune::set_writable(bytes_of(pages), writable) ? Protection::done : Protection::failed;
}

}  // namespace attune
