// SPDX-License-Identifier: MIT
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
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

  {
    // Many at once, more than a device may take in one go, some without bytes.
    std::vector<Buffer> areas;
    std::vector<Hash128> hashes;
    for (uint64_t i = 0; i < 300; ++i) areas.push_back(first.area().part(i % 7, i % 5 == 4 ? 0 : i));
    for (const Buffer& area : areas) hashes.push_back(memory.hash(area));
    EXPECT_EQ(memory.hash_all(areas), hashes);
    EXPECT_TRUE(memory.hash_all({}).empty());
    const std::vector<Buffer> ends = {first.area().part(0, 3), first.area().part(500, 2)};
    memory.fill_all(std::vector<PatternArea>{{ends[0], {0xab, 1}}, {ends[1], {0xcd, 1}}});
    for (const uint64_t at : {0u, 1u, 2u}) expected[at] = std::byte{0xab};
    for (const uint64_t at : {500u, 501u}) expected[at] = std::byte{0xcd};
    EXPECT_EQ(there(first), expected);
    const std::vector<PatternArea> compared = {
        {ends[0], {0xab, 1}}, {first.area(), {0xab, 1}}, {ends[1], {0xcd, 1}}, {ends[1], {0xcdab, 2}}};
    const auto [scans, with_scans] = memory.inspect(compared, areas);
    ASSERT_EQ(scans.size(), compared.size());
    EXPECT_EQ(scans[0].num_equal, 3u);
    EXPECT_EQ(scans[0].first_other, std::nullopt);
    const auto other = std::ranges::find_if(expected, [](std::byte one) { return one != std::byte{0xab}; });
    EXPECT_EQ(scans[1].first_other, static_cast<uint64_t>(other - expected.begin()));
    EXPECT_EQ(scans[2].num_equal, 2u);
    EXPECT_EQ(scans[2].first_other, std::nullopt);
    EXPECT_EQ(scans[3].num_equal, 0u);
    EXPECT_EQ(scans[3].first_other, 0u);
    EXPECT_EQ(with_scans, memory.hash_all(areas)) << "whatever else is looked at";
    const auto [none, no_hashes] = memory.inspect({}, {});
    EXPECT_TRUE(none.empty() && no_hashes.empty());
    memory.fill_all({});
  }
  {
    // More areas than a device may take in one go, each with a pattern of its own.
    std::vector<PatternArea> many;
    for (uint64_t i = 0; i < 300; ++i)
      many.push_back({first.area().part(3 * i, i % 4), {0x0101010101010101 * (i % 251), 1u << i % 4}});
    memory.fill_all(many);
    for (const auto& [area, pattern] : many) {
      const auto begin = static_cast<char*>(area.data) - static_cast<char*>(first.data());
      std::fill_n(expected.begin() + begin, area.bytes, static_cast<std::byte>(pattern.value));
    }
    EXPECT_EQ(there(first), expected);
    for (const PatternScan& one : memory.inspect(many, {}).scans) EXPECT_EQ(one.first_other, std::nullopt);
    many.back().pattern.value = ~many.back().pattern.value;
    const auto scans = memory.inspect(many, {}).scans;
    EXPECT_EQ(scans.back().first_other, 0u) << "the last one, too";
    EXPECT_EQ(scans[298].first_other, std::nullopt);
  }
  {
    // Long enough for many blocks of a device, with one byte changed near each end.
    const OwnBuffer large(memory, 1'000'003, 64);
    memory.fill(large.area(), {0x1234567890abcdef, 8});
    const Hash128 before = memory.hash(large.area());
    for (const uint64_t at : {0u, 65'535u, 65'536u, 999'999u, 1'000'002u}) {
      std::byte was{};
      memory.download({&was, 1}, large.area().part(at, 1).data);
      const std::byte other = was ^ std::byte{4};
      memory.upload(large.area().part(at, 1).data, {&other, 1});
      EXPECT_NE(memory.hash(large.area()), before) << at;
      EXPECT_EQ(memory.scan(large.area(), {0x1234567890abcdef, 8}).first_other, at);
      memory.upload(large.area().part(at, 1).data, {&was, 1});
      EXPECT_EQ(memory.hash(large.area()), before) << at;
    }
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
