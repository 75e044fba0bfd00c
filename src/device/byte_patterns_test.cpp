// SPDX-License-Identifier: MIT
#include "device/byte_patterns.h"

#include <gtest/gtest.h>

#include <array>

namespace attune {
namespace {

/// The byte at an address, by the definition of Pattern.
std::byte expected_byte(const std::byte* address, Pattern pattern) {
  return static_cast<std::byte>(pattern.value >> (8 * (reinterpret_cast<uintptr_t>(address) % pattern.bytes)));
}

TEST(BytePatterns, FollowTheAddressWhereverAnAreaBeginsAndEnds) {
  alignas(8) std::array<std::byte, 80> memory;
  for (const uint32_t bytes : {1u, 2u, 4u, 8u}) {
    const Pattern pattern{0x8877665544332211, bytes};
    for (size_t begin = 0; begin < 9; ++begin) {
      for (size_t size = 0; size < 40; ++size) {
        memory.fill(std::byte{0xee});
        const auto area = std::span(memory).subspan(8 + begin, size);
        fill_pattern(area, pattern);
        for (std::byte& byte : area) ASSERT_EQ(byte, expected_byte(&byte, pattern)) << begin << " " << size;
        EXPECT_EQ(*(area.data() - 1), std::byte{0xee});
        EXPECT_EQ(area.data()[size], std::byte{0xee});
        const PatternScan found = scan_pattern(area, pattern);
        EXPECT_EQ(found.first_other, std::nullopt);
        EXPECT_EQ(found.num_equal, size / bytes);
      }
    }
  }
}

TEST(BytePatterns, AnyChangedByteIsFound) {
  alignas(8) std::array<std::byte, 64> memory;
  for (const uint32_t bytes : {1u, 2u, 4u, 8u}) {
    for (size_t begin = 0; begin < 8; ++begin) {
      const auto area = std::span(memory).subspan(begin, 45);
      for (size_t at = 0; at < area.size(); ++at) {
        fill_pattern(area, {0xfff5a5c3, bytes});
        area[at] ^= std::byte{1};
        EXPECT_EQ(scan_pattern(area, {0xfff5a5c3, bytes}).first_other, at) << bytes << " " << begin;
      }
    }
  }
}

TEST(BytePatterns, EqualElementsAreCounted) {
  alignas(8) std::array<std::byte, 64> memory;
  memory.fill(std::byte{0});
  fill_pattern(std::span(memory).subspan(12, 4), {0xffa5a5a5, 4});
  fill_pattern(std::span(memory).subspan(40, 8), {0xffa5a5a5, 4});
  const PatternScan found = scan_pattern(memory, {0xffa5a5a5, 4});
  EXPECT_EQ(found.num_equal, 3u);
  EXPECT_EQ(found.first_equal, 3u);
  EXPECT_EQ(found.first_other, 0u);
}

}  // namespace
}  // namespace attune
