// SPDX-License-Identifier: MIT
#include "device/device_kind.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/devices.h"

namespace attune {
namespace {

TEST(DeviceKinds, EveryDeviceIsOfAKindAndTheHostComesFirst) {
  EXPECT_EQ(device_kinds().front().name, "host");
  for (const DeviceInfo& info : list_devices()) EXPECT_EQ(device_kind(info.kind).name, info.kind);
}

TEST(DeviceKinds, VirtualTimeWaitsForNothing) {
  EXPECT_EQ(device_kind("fake").contest.confirm.delay_s, 0);
  EXPECT_EQ(device_kind("host").contest.confirm.delay_s, 5);
}

TEST(DeviceKinds, AKindIsRegisteredOnceAndBeforeTheFirstUse) {
  DeviceKind kind = device_kinds().front();
  EXPECT_THROW(register_device_kind(kind), Error) << "of this name";
  kind.name = "late";
  EXPECT_THROW(register_device_kind(kind), Error);
  EXPECT_THROW(register_device_kind({.name = "empty"}), Error);
}

}  // namespace
}  // namespace attune
