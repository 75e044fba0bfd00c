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

void ReachableMemory::fill_all(std::span<const Buffer> areas, Pattern pattern) {
  for (const Buffer& area : areas) fill_pattern(bytes_of(area), pattern);
}

std::vector<PatternScan> ReachableMemory::scan_all(std::span<const Buffer> areas, Pattern pattern) {
  std::vector<PatternScan> scans;
  for (const Buffer& area : areas) scans.push_back(scan_pattern(bytes_of(area), pattern));
  return scans;
}

std::vector<Hash128> ReachableMemory::hash_all(std::span<const Buffer> areas) {
  std::vector<Hash128> hashes;
  for (const Buffer& area : areas) hashes.push_back(hash128(std::span<const std::byte>(bytes_of(area))));
  return hashes;
}

Protection ReachableMemory::set_writable(Buffer pages, bool writable) noexcept {
  return attune::set_writable(bytes_of(pages), writable) ? Protection::done : Protection::failed;
}

}  // namespace attune
