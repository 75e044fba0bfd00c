// SPDX-License-Identifier: MIT
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/random.h"
#include "device/host_bytes.h"
#include "device/own_buffer.h"

namespace attune {

/// The contract of DeviceMemory, held against bytes of the host: at odd addresses and lengths, too.
inline void check_device_memory(DeviceMemory& memory) {
  constexpr uint64_t kBytes = 1000;
  const OwnBuffer first(memory, kBytes, 64), second(memory, kBytes, 256);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first.data()) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(second.data()) % 256, 0u);
  Random random(3);
  std::vector<std::byte> expected(kBytes);
  for (std::byte& byte : expected) byte = static_cast<std::byte>(random.below(256));
  const auto there = [&](const OwnBuffer& buffer) {
    std::vector<std::byte> bytes(kBytes);
    memory.download(bytes, buffer.data());
    return bytes;
  };
  memory.upload(first.data(), expected);
  EXPECT_EQ(there(first), expected);
  memory.copy(second.data(), first.data(), kBytes);
  EXPECT_EQ(there(second), expected);
  EXPECT_EQ(memory.hash(first.area()), memory.hash(second.area()));
  for (const uint64_t bytes : {0u, 1u, 7u, 8u, 998u}) {
    const Hash128 before = memory.hash(first.area().part(1, bytes));
    EXPECT_NE(before, memory.hash(first.area().part(1, bytes + 1))) << bytes;
    if (bytes == 0) continue;
    const std::byte last = expected[bytes], other = last ^ std::byte{1};
    memory.upload(static_cast<char*>(first.data()) + bytes, {&other, 1});
    EXPECT_NE(before, memory.hash(first.area().part(1, bytes))) << bytes;
    memory.upload(static_cast<char*>(first.data()) + bytes, {&last, 1});
    EXPECT_EQ(before, memory.hash(first.area().part(1, bytes))) << bytes;
  }

  for (int round = 0; round < 60; ++round) {
    const uint64_t begin = random.below(40), size = random.below(kBytes - 80);
    const Pattern pattern{random.below(~uint64_t{0}), 1u << random.below(4)};
    const Buffer area = first.area().part(begin, size);
    memory.fill(area, pattern);
    for (uint64_t i = 0; i < size; ++i) {
      const uint64_t turn = (reinterpret_cast<uintptr_t>(area.data) + i) % pattern.bytes;
      expected[begin + i] = static_cast<std::byte>(pattern.value >> (8 * turn));
    }
    ASSERT_EQ(there(first), expected) << begin << " " << size;
    EXPECT_EQ(memory.scan(area, pattern).first_other, std::nullopt);
    EXPECT_EQ(memory.scan(area, pattern).num_equal, size / pattern.bytes);
  }

  {
    HostBytes bytes(memory, second.area());
    bytes.bytes()[7] ^= std::byte{1};
    bytes.store();
    HostBytes moved(std::move(bytes));
    EXPECT_EQ(moved.bytes()[7], there(second)[7]);
  }
  EXPECT_EQ(memory.host_address(nullptr), nullptr);
  memory.release({});
}

}  // namespace attune
