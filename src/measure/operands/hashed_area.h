// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "base/hash.h"
#include "device/device_memory.h"

namespace attune {

/// An area that no candidate may change and whose memory has no protection. Its hash reveals changes.
struct HashedArea {
  Buffer area;
  Hash128 hash;  ///< Hash of the right content.
};

/// Whether all areas are unchanged. Makes one call of the memory for all areas.
inline bool are_unchanged(DeviceMemory& memory, std::span<const HashedArea> areas) {
  std::vector<Buffer> all;
  for (const HashedArea& one : areas) all.push_back(one.area);
  return std::ranges::equal(memory.hash_all(all), areas, {}, {}, &HashedArea::hash);
}

}  // namespace attune
