// SPDX-License-Identifier: MIT
#include "measure/operands/rotation.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>

#include "device/device_kind.h"
#include "device/fake/described_device.h"
#include "device/fake/fake_device.h"

namespace attune {
namespace {

constexpr int64_t kMega = 1 << 20;

std::vector<TensorSpec> specs(int64_t input_elements, int64_t output_elements) {
  return {{.role = "a", .shape = {1, input_elements}},
          {.role = "c", .shape = {1, output_elements}, .use = Use::output}};
}

TEST(RotationSize, InputsTogetherExceedTwiceTheCache) {
  const auto size = size_rotation(specs(kMega / 4, 64), CachePolicy::cold, 8 * kMega);
  EXPECT_EQ(size.copies, 17u);
}

TEST(RotationSize, IsBoundedWhateverCacheAVirtualMachineReports) {
  const auto size = size_rotation(specs(kMega / 4, 64), CachePolicy::cold, 480 * kMega);
  EXPECT_LE(size.bytes(), kRotationBytes);
  EXPECT_GE(size.copies, 254u);
}

TEST(RotationSize, HasTwoCopiesHoweverLargeAndOneWhenWarm) {
  EXPECT_EQ(size_rotation(specs(200 * kMega, 64), CachePolicy::cold, 8 * kMega).copies, 2u);
  EXPECT_EQ(size_rotation(specs(64, 64), CachePolicy::warm, 8 * kMega).copies, 1u);
  EXPECT_EQ(size_rotation(specs(64, 64), CachePolicy::cold, 0).copies, 2u);
}

/// A weight of 1 MiB between an activation and an output.
std::vector<TensorSpec> layer_specs(int64_t activation_elements) {
  return {{.role = "a", .shape = {1, activation_elements}},
          {.role = "b", .shape = {1, kMega / 4}, .use = Use::weight},
          {.role = "c", .shape = {1, 64}, .use = Use::output}};
}

TEST(RotationSize, WeightsAloneRotateAsServed) {
  const auto size = size_rotation(layer_specs(kMega), CachePolicy::served, 8 * kMega);
  EXPECT_EQ(size.copies, 17u);
  EXPECT_EQ(size.copy_bytes, static_cast<uint64_t>(kMega));
  EXPECT_EQ(size.shared_bytes, 4u * kMega + 256);
  EXPECT_EQ(size_rotation(layer_specs(kMega), CachePolicy::cold, 8 * kMega).copies, 4u);
}

TEST(RotationSize, IsBoundedBesideActivationsOfAnySize) {
  const auto size = size_rotation(layer_specs(32 * kMega), CachePolicy::served, 480 * kMega);
  EXPECT_EQ(size.copies, 127u);
  EXPECT_EQ(size_rotation(layer_specs(100 * kMega), CachePolicy::served, 480 * kMega).copies, 2u);
}

TEST(CopyPicker, NeverReusesACopyWithinHalfARotation) {
  for (const uint32_t copies : {1u, 2u, 3u, 7u, 20u}) {
    CopyPicker picker(copies, 3);
    std::map<uint32_t, int> last;
    for (int i = 0; i < 2000; ++i) {
      const uint32_t copy = picker.next();
      ASSERT_LT(copy, copies);
      if (last.contains(copy)) {
        ASSERT_GT(i - last[copy], static_cast<int>(copies / 2)) << copies;
      }
      last[copy] = i;
    }
    EXPECT_EQ(last.size(), copies) << "all take part";
  }
}

TEST(CopyPicker, DrawsEveryCopyEquallyOften) {
  CopyPicker picker(10, 5);
  std::vector<int> counts(10);
  for (int i = 0; i < 10'000; ++i) ++counts[picker.next()];
  for (const int count : counts) EXPECT_NEAR(count, 1000, 100);
}

TEST(CopyPicker, DoesNotRepeatAnOrder) {
  CopyPicker picker(10, 5);
  std::set<std::vector<uint32_t>> orders;
  for (int i = 0; i < 50; ++i) {
    std::vector<uint32_t> order(10);
    for (uint32_t& copy : order) copy = picker.next();
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 50u);
}

TEST(CopyPicker, RepeatsItselfForASeed) {
  CopyPicker one(9, 11), same(9, 11), other(9, 12);
  std::vector<uint32_t> drawn[3];
  for (int i = 0; i < 100; ++i) {
    drawn[0].push_back(one.next());
    drawn[1].push_back(same.next());
    drawn[2].push_back(other.next());
  }
  EXPECT_EQ(drawn[0], drawn[1]);
  EXPECT_NE(drawn[0], drawn[2]);
}

/// A fake device reaches the process's memory, too.
std::vector<Buffer> areas(std::initializer_list<std::vector<std::byte>*> operands) {
  std::vector<Buffer> areas;
  for (std::vector<std::byte>* operand : operands) areas.push_back({operand->data(), operand->size()});
  return areas;
}

TEST(Rotation, CopiesEveryOperandApartAndAlignedAsFrameworksDo) {
  FakeDevice device;
  const auto tensors = specs(50, 30);
  std::vector<std::byte> a(tensors[0].bytes(), std::byte{7}), c(tensors[1].bytes(), std::byte{9});
  {
    Rotation rotation(device, tensors, {.copies = 3, .copy_bytes = a.size() + c.size()}, areas({&a, &c}), 1);
    std::set<void*> places;
    for (uint32_t i = 0; i < 3; ++i) {
      const auto operands = rotation.copy(i);
      ASSERT_EQ(operands.size(), 2u);
      EXPECT_EQ(std::memcmp(FakeMemory::reach(operands[0]), a.data(), a.size()), 0);
      EXPECT_EQ(std::memcmp(FakeMemory::reach(operands[1]), c.data(), c.size()), 0);
      for (void* operand : operands) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(operand) % 128, 64u);
        EXPECT_TRUE(places.insert(operand).second);
      }
    }
  }
  EXPECT_EQ(device.memory().allocated_bytes(), 0u);
}

/// A kind whose applications' allocations are aligned to 1024 bytes. It is registered before main(), since an earlier
/// test may ask for devices, which fixes the list.
const bool kIsCoarseRegistered = [] {
  register_device_kind({.name = "coarse",
                        .list = [] { return std::vector<DeviceInfo>(); },
                        .open = [](std::string_view, int64_t) { return std::unique_ptr<Device>(); },
                        .allocation_alignment = 1024});
  return true;
}();

TEST(Rotation, OperandsHaveTheAlignmentOfTheDevicesAllocations) {
  ASSERT_TRUE(kIsCoarseRegistered);
  DescribedDevice device([](DeviceInfo& info) { info.kind = "coarse"; });
  const auto tensors = specs(50, 30);
  std::vector<std::byte> a(tensors[0].bytes()), c(tensors[1].bytes());
  Rotation rotation(device, tensors, {.copies = 3, .copy_bytes = a.size() + c.size()}, areas({&a, &c}), 1);
  for (uint32_t i = 0; i < 3; ++i) {
    for (void* operand : rotation.copy(i)) EXPECT_EQ(reinterpret_cast<uintptr_t>(operand) % 2048, 1024u);
  }
}

TEST(Rotation, AllCopiesShareActivationsAndOutputAsServed) {
  FakeDevice device;
  const auto tensors = layer_specs(100);
  std::vector<std::byte> a(tensors[0].bytes()), b(tensors[1].bytes()), c(tensors[2].bytes());
  const RotationSize size{
      .copies = 3, .copy_bytes = b.size(), .shared_bytes = a.size() + c.size(), .policy = CachePolicy::served};
  {
    Rotation rotation(device, tensors, size, areas({&a, &b, &c}), 1);
    std::set<void*> activations, weights, outputs;
    for (uint32_t i = 0; i < 3; ++i) {
      activations.insert(rotation.copy(i)[0]);
      weights.insert(rotation.copy(i)[1]);
      outputs.insert(rotation.copy(i)[2]);
    }
    EXPECT_EQ(activations.size(), 1u);
    EXPECT_EQ(weights.size(), 3u);
    EXPECT_EQ(outputs.size(), 1u);
  }
  EXPECT_EQ(device.memory().allocated_bytes(), 0u);
}

TEST(Rotation, ItsInputsCannotBeWrittenToAndItsOutputsCan) {
  FakeDevice device;
  const auto tensors = specs(50, 30);
  std::vector<std::byte> a(tensors[0].bytes()), c(tensors[1].bytes());
  Rotation rotation(device, tensors, {.copies = 3, .copy_bytes = a.size() + c.size()}, areas({&a, &c}), 1);
  for (uint32_t i = 0; i < 3; ++i) {
    std::memset(FakeMemory::reach(rotation.copy(i)[1]), 1, c.size());
    std::byte* const input = FakeMemory::reach(rotation.copy(i)[0]);
    EXPECT_DEATH(*input = std::byte{1}, "");
    EXPECT_DEATH(input[a.size() - 1] = std::byte{1}, "");
  }
}

}  // namespace
}  // namespace attune
