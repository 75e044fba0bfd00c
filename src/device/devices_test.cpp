// SPDX-License-Identifier: MIT
#include "device/devices.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

/// A host with a limit of two threads, another device of four units.
std::vector<DeviceInfo> two_devices() {
  DeviceInfo host, other;
  host.id = "cpu:0", host.kind = "host", host.gfx = "x86-64-v4+bf16", host.num_units = 2;
  other.id = "other:0", other.kind = "other", other.gfx = "o1", other.num_units = 4;
  return {host, other};
}

TEST(DeviceFlags, NameTheDeviceAlone) {
  EXPECT_EQ(device_flags(two_devices(), "x86-64-v4+bf16/2"), "--devices cpu:0");
  EXPECT_EQ(device_flags(two_devices(), "o1/4"), "--devices other:0");
}

TEST(DeviceFlags, ContainAThreadLimitThatIsNotTheProcesssOwn) {
  EXPECT_EQ(device_flags(two_devices(), "x86-64-v4+bf16/1"), "--devices cpu:0 --threads 1");
  EXPECT_EQ(device_flags(two_devices(), "x86-64-v4+bf16/8"), "--devices cpu:0 --threads 8");
}

TEST(DeviceFlags, OfADeviceThatIsNotHereNameTheHost) {
  EXPECT_EQ(device_flags(two_devices(), "x86-64-v3/2"), "--devices cpu:0");
  EXPECT_EQ(device_flags(two_devices(), "o1/8"), "--devices cpu:0") << "its units are no threads";
  EXPECT_EQ(device_flags(two_devices(), ""), "--devices cpu:0");
}

}  // namespace
}  // namespace attune
