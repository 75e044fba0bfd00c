// SPDX-License-Identifier: MIT
#include "device/device_kind.h"

#include <gtest/gtest.h>

#include <algorithm>

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

/// A kind that precedes the host, with two devices while this is set.
bool are_ahead_here = false;
const bool is_ahead_registered = [] {
  register_device_kind({.name = "ahead",
                        .list =
                            [] {
                              std::vector<DeviceInfo> here;
                              if (!are_ahead_here) return here;
                              for (const char* id : {"ahead:0", "ahead:1"})
                                here.push_back({.id = id, .kind = "ahead", .gfx = "ahead"});
                              return here;
                            },
                        .open = [](std::string_view, int64_t) { return std::unique_ptr<Device>(); },
                        .precedes_host = true});
  return true;
}();

TEST(DeviceIds, AreThoseThatTheUserNamed) {
  ASSERT_TRUE(is_ahead_registered);
  EXPECT_EQ(device_ids({.ids = "cpu:0,cpu:1", .threads = 1}), "cpu:0,cpu:1");
  EXPECT_EQ(device_id({.ids = "fake:0"}), "fake:0");
}

TEST(DeviceIds, AreAllThatPrecedeTheHostAndForOneDeviceTheFirst) {
  EXPECT_EQ(device_ids({}), "cpu:0");
  are_ahead_here = true;
  EXPECT_EQ(device_ids({}), "ahead:0,ahead:1");
  EXPECT_EQ(device_id({}), "ahead:0");
  EXPECT_EQ(find_device({}).id, "ahead:0");
  const std::vector<std::string> fake = {"fake"};
  EXPECT_EQ(device_ids({}, fake), "fake:0");
  are_ahead_here = false;
}

TEST(DeviceIds, ANumberAloneIsOfTheFirstKindThatPrecedesTheHostAndIsHere) {
  const auto first = std::ranges::find_if(device_kinds(), [](const DeviceKind& kind) { return kind.precedes_host; });
  EXPECT_EQ(preferred_prefix(), first->name) << "where none is here";
  are_ahead_here = true;
  EXPECT_EQ(preferred_prefix(), "ahead");
  are_ahead_here = false;
}

/// A kind whose units are cores, as a host's.
const bool is_parts_registered = [] {
  register_device_kind({.name = "parts",
                        .list = [] { return std::vector<DeviceInfo>(); },
                        .open = [](std::string_view, int64_t) { return std::unique_ptr<Device>(); },
                        .units_are_cores = true});
  return true;
}();

TEST(DeviceKinds, AThreadLimitIsOfThoseWhoseUnitsAreCores) {
  ASSERT_TRUE(is_parts_registered);
  const DeviceInfo parts{.id = "parts:0", .kind = "parts", .gfx = "p", .num_units = 8};
  EXPECT_TRUE(units_are_cores(parts));
  EXPECT_TRUE(units_are_cores({.kind = "host"}));
  EXPECT_FALSE(units_are_cores({.kind = "fake"}));
  EXPECT_FALSE(units_are_cores({.kind = "elsewhere"})) << "described in a file";
  EXPECT_TRUE(units_are_cores("cpu:0,cpu:1"));
  EXPECT_TRUE(units_are_cores("parts:0"));
  EXPECT_FALSE(units_are_cores("fake:0"));
  EXPECT_FALSE(units_are_cores(""));
  EXPECT_EQ(device_flags({&parts, 1}, "p/4"), "--devices parts:0 --threads 4");
}

TEST(DeviceIds, AThreadLimitAloneMeansTheHost) {
  are_ahead_here = true;
  const std::vector<std::string> ahead = {"ahead"};
  EXPECT_EQ(device_ids({.threads = 1}, ahead), "cpu:0");
  EXPECT_EQ(device_id({.threads = 1}), "cpu:0");
  EXPECT_EQ(find_device({.threads = 1}).kind, "host");
  are_ahead_here = false;
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
