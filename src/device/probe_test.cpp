// SPDX-License-Identifier: MIT
#include "device/probe.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/devices.h"
#include "device/fake/fake_device.h"

namespace attune {
namespace {

TEST(Probe, EveryDeviceThatWorksPassesAndKeepsNoMemory) {
  for (const DeviceInfo& info : list_devices()) probe(*open_device(info.id));
  FakeDevice device;
  probe(device);
  EXPECT_EQ(device.memory().allocated_bytes(), 0u);
}

TEST(Probe, ABrokenDeviceFails) {
  FakeDevice device;
  device.break_down();
  EXPECT_THROW(probe(device), Error);
}

}  // namespace
}  // namespace attune
