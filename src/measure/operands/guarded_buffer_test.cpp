// SPDX-License-Identifier: MIT
#include "measure/operands/guarded_buffer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <iostream>

#include "base/error.h"
#include "device/fake/fake_device.h"
#include "tensor/convert.h"

namespace attune {
namespace {

TEST(GuardedBuffer, IsAlignedToWhatIsPromisedAndNoBetter) {
  FakeDevice device;
  for (const uint32_t alignment : {1u, 2u, 16u, 64u, 256u}) {
    const GuardedBuffer buffer(device, 1000, alignment, 4);
    const auto address = reinterpret_cast<uintptr_t>(buffer.data());
    EXPECT_EQ(address % alignment, 0u) << alignment;
    EXPECT_NE(address % (2 * alignment), 0u) << alignment;
  }
}

TEST(GuardedBuffer, SeesOneByteAnywhereInItsBands) {
  FakeDevice device;
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{999}, uint64_t{4096}}) {
    GuardedBuffer buffer(device, bytes, 16, 8);
    EXPECT_EQ(buffer.broken_guard(), std::nullopt);
    const std::ptrdiff_t size = static_cast<std::ptrdiff_t>(bytes), reach = 128 * 8;
    for (const std::ptrdiff_t at : {std::ptrdiff_t{-1}, -reach, size, size + reach - 1}) {
      FakeMemory::reach(buffer.data())[at] ^= std::byte{0x10};
      EXPECT_EQ(buffer.broken_guard(), at < 0 ? fmt::format("{} bytes before its start", -at)
                                              : fmt::format("{} bytes after its end", at - size));
      buffer.restore_guards();
      EXPECT_EQ(buffer.broken_guard(), std::nullopt);
    }
  }
}

TEST(GuardedBuffer, AllowsEveryByteOfItsOwn) {
  FakeDevice device;
  GuardedBuffer buffer(device, 77, 2, 2);
  device.memory().fill(buffer.area(), {0x3c, 1});
  EXPECT_EQ(buffer.broken_guard(), std::nullopt);
}

TEST(GuardedBuffer, OfAnotherSizeIsGuardedRightBehindItAndInAllMemoryBeforeIt) {
  FakeDevice device;
  GuardedBuffer buffer(device, 5000, 64, 8);
  const uint64_t allocated = device.memory().allocated_bytes();
  for (const uint64_t bytes : {uint64_t{100}, uint64_t{5001}, uint64_t{1}, uint64_t{5000}}) {
    for (const uint32_t alignment : {16u, 256u, 64u}) {
      ASSERT_TRUE(buffer.reshape(bytes, alignment));
      buffer.restore_guards();
      EXPECT_EQ(buffer.bytes(), bytes);
      const auto address = reinterpret_cast<uintptr_t>(buffer.data());
      EXPECT_EQ(address % (2 * alignment), alignment);
      device.memory().fill(buffer.area(), {0x3c, 1});
      EXPECT_EQ(buffer.broken_guard(), std::nullopt);
      std::vector<PatternArea> guards;
      buffer.list_guards(guards);
      const uint64_t front = guards[1].area.bytes, back = guards[0].area.bytes;
      EXPECT_EQ(front + bytes + back, allocated);
      EXPECT_GE(back, 1024u);
      EXPECT_LT(back, 1024u + 2 * alignment) << "what follows may be nobody's, so that a write there is a fault";
      const auto size = static_cast<std::ptrdiff_t>(bytes), begin = -static_cast<std::ptrdiff_t>(front);
      for (const std::ptrdiff_t at : {begin, std::ptrdiff_t{-1}, size, size + static_cast<std::ptrdiff_t>(back) - 1}) {
        FakeMemory::reach(buffer.data())[at] ^= std::byte{0x10};
        EXPECT_EQ(buffer.broken_guard(), at < 0 ? fmt::format("{} bytes before its start", -at)
                                                : fmt::format("{} bytes after its end", at - size));
        buffer.restore_guards();
      }
    }
  }
  EXPECT_EQ(device.memory().allocated_bytes(), allocated);
}

TEST(GuardedBuffer, KeepsItsMemoryForAnotherSizeOnlyWhereItsBandsCostLess) {
  FakeDevice device;
  GuardedBuffer buffer(device, 1 << 20, 64, 8);
  EXPECT_FALSE(buffer.reshape((1 << 20) + 8192, 64)) << "too large";
  EXPECT_FALSE(buffer.reshape(1 << 18, 64)) << "less than half, and more than 256 KiB to spare";
  EXPECT_EQ(buffer.bytes(), 1u << 20) << "as it was";
  EXPECT_EQ(buffer.broken_guard(), std::nullopt);
  EXPECT_TRUE(buffer.reshape(1 << 19, 64)) << "half";
}

TEST(GuardedBuffer, GivesItsMemoryBackOnce) {
  FakeDevice device;
  {
    GuardedBuffer buffer(device, 100, 16, 4);
    const GuardedBuffer moved(std::move(buffer));
    EXPECT_GT(device.memory().allocated_bytes(), 100u);
  }
  EXPECT_EQ(device.memory().allocated_bytes(), 0u);
}

float decode(DType dtype, uint64_t pattern) {
  std::byte stored[8];
  std::memcpy(stored, &pattern, sizeof stored);
  float value = 0;
  to_float(dtype, stored, std::span(&value, 1));
  return value;
}

TEST(Poison, IsANanOfItsTypeAndSoIsWhatArithmeticMakesOfIt) {
  for (const DType dtype : {DType::fp32, DType::bf16, DType::fp16}) {
    const Poison poison = Poison::of(dtype);
    EXPECT_TRUE(std::isnan(decode(dtype, poison.element.value))) << name(dtype);
    float value = decode(dtype, poison.element.value) + 1.0f;
    uint64_t stored = 0;
    from_float(dtype, std::span(&value, 1), reinterpret_cast<std::byte*>(&stored));
    EXPECT_EQ(stored, poison.quiet.value) << name(dtype);
  }
}

TEST(Poison, IsANanOfEveryEightBitFloat) {
  for (const DType dtype : {DType::e4m3fn, DType::e4m3fnuz, DType::e5m2, DType::e5m2fnuz, DType::e8m0})
    EXPECT_TRUE(std::isnan(decode(dtype, Poison::of(dtype).element.value))) << name(dtype);
}

TEST(GuardedBuffer, IsMemoryThatTheHostCannotRead) {
  FakeDevice device;
  const GuardedBuffer buffer(device, 64, 16, 8);
  EXPECT_EQ(buffer.memory().host_address(buffer.data()), nullptr);
  EXPECT_DEATH(std::cout << *static_cast<volatile char*>(buffer.data()), "");
}

TEST(Poison, BytesOfTheCanaryAreANanOfEveryFloatType) {
  FakeDevice device;
  GuardedBuffer buffer(device, 64, 16, 8);
  device.memory().fill(buffer.area(), kNanBytes);
  const std::byte* const data = FakeMemory::reach(buffer.data());
  for (const DType dtype : {DType::fp64, DType::fp32, DType::bf16, DType::fp16}) {
    for (const std::byte* at : {data, data + 64, data - 8}) {
      float value = 0;
      to_float(dtype, at, std::span(&value, 1));
      EXPECT_TRUE(std::isnan(value)) << name(dtype);
    }
  }
}

}  // namespace
}  // namespace attune
