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

TEST(DeviceKinds, AnIdNamesItsKindWhetherOrNotTheDeviceIsThere) {
  EXPECT_EQ(find_device_kind("cpu:0")->name, "host");
  EXPECT_EQ(find_device_kind("fake:1000")->name, "fake");
  EXPECT_EQ(find_device_kind("host:0"), nullptr);
  EXPECT_EQ(find_device_kind(""), nullptr);
}

/// A kind whose driver would take long to ask.
int num_lists = 0;
const bool is_registered = [] {
  register_device_kind({.name = "slow",
                        .list =
                            [] {
                              ++num_lists;
                              return std::vector<DeviceInfo>();
                            },
                        .open = [](std::string_view, int64_t) { return std::unique_ptr<Device>(); }});
  return true;
}();

TEST(DeviceKinds, AreNotAskedForADeviceOfAnother) {
  ASSERT_TRUE(is_registered);
  num_lists = 0;
  open_device("fake:0");
  find_device({});
  EXPECT_FALSE(list_devices("cpu:0").empty());
  EXPECT_EQ(num_lists, 0);
  EXPECT_THROW(find_device({.ids = "slow:0"}), Error);
  EXPECT_GT(num_lists, 0);
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
