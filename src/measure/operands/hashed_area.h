// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "base/hash.h"
#include "device/device_memory.h"

namespace attune {

/// An area that no candidate may change and whose memory has no protection: changes are found by its hash.
struct HashedArea {
  Buffer area;
  Hash128 hash;  ///< When it was right.
};

/// Whether all areas are as they were. One call of the memory, whatever their number.
inline bool are_unchanged(DeviceMemory& memory, std::span<const HashedArea> areas) {
  std::vector<Buffer> all;
  for (const HashedArea& one : areas) all.push_back(one.area);
  return std::ranges::equal(memory.hash_all(all), areas, {}, {}, &HashedArea::hash);
}

}  // namespace attune
