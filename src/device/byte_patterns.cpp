// SPDX-License-Identifier: MIT
#include "device/byte_patterns.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace attune {
namespace {

/// The bytes of a pattern, starting at an address.
struct TurnedPattern {
  std::array<std::byte, 8> bytes;
  size_t size;

  TurnedPattern(const std::byte* address, Pattern pattern) : size(pattern.bytes) {
    std::array<std::byte, 8> straight;
    std::memcpy(straight.data(), &pattern.value, straight.size());
    const size_t turn = reinterpret_cast<uintptr_t>(address) % size;
    for (size_t i = 0; i < size; ++i) bytes[i] = straight[(turn + i) % size];
  }
  bool equals(std::span<const std::byte> element) const noexcept {
    return std::equal(element.begin(), element.end(), bytes.begin());
  }
};

}  // namespace

void fill_pattern(std::span<std::byte> area, Pattern pattern) noexcept {
  const TurnedPattern turned(area.data(), pattern);
  size_t filled = std::min(turned.size, area.size());
  std::copy_n(turned.bytes.begin(), filled, area.begin());
  // Copies twice as much each time.
  while (filled < area.size()) {
    const size_t more = std::min(filled, area.size() - filled);
    std::memcpy(area.data() + filled, area.data(), more);
    filled += more;
  }
}

PatternScan scan_pattern(std::span<const std::byte> area, Pattern pattern) noexcept {
  const TurnedPattern turned(area.data(), pattern);
  PatternScan found;
  // Most areas are unchanged guard bands: there each element equals the one before it.
  const bool is_one_pattern = area.size() >= turned.size && turned.equals(area.first(turned.size)) &&
                              std::memcmp(area.data(), area.data() + turned.size, area.size() - turned.size) == 0;
  if (is_one_pattern) {
    found.num_equal = area.size() / turned.size;
    return found;
  }
  for (size_t i = 0; i < area.size(); i += turned.size) {
    const auto element = area.subspan(i, std::min(turned.size, area.size() - i));
    if (!turned.equals(element)) {
      if (found.first_other) continue;
      const auto differs = std::mismatch(element.begin(), element.end(), turned.bytes.begin()).first;
      found.first_other = i + static_cast<size_t>(differs - element.begin());
    } else if (element.size() == turned.size && found.num_equal++ == 0) {
      found.first_equal = i / turned.size;
    }
  }
  return found;
}

}  // namespace attune
