// SPDX-License-Identifier: MIT
#include "device/device_memory.h"

#include <gtest/gtest.h>

#include <utility>

#include "device/devices.h"
#include "device/fake/fake_device.h"
#include "testing/device_memory_checks.h"

namespace attune {
namespace {

TEST(DeviceMemory, KeepsItsContractOnEveryDevice) {
  for (const DeviceInfo& info : list_devices()) check_device_memory(open_device(info.id)->memory());
}

TEST(OwnBuffer, IsReleasedOnceWhereverItMoves) {
  FakeDevice device;
  {
    OwnBuffer first(device.memory(), 100, 64), second(device.memory(), 50, 64);
    OwnBuffer moved(std::move(first));
    moved = std::move(second);
    EXPECT_EQ(device.memory().allocated_bytes(), 50u);
    moved.reset();
    moved.reset();
    EXPECT_EQ(device.memory().allocated_bytes(), 0u);
  }
  EXPECT_EQ(device.memory().allocated_bytes(), 0u);
}

}  // namespace
}  // namespace attune
