// SPDX-License-Identifier: MIT
#include "device/default_devices.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

ListedDevice device(const char* id, const char* kind, const char* gfx, int64_t units, bool precedes_host = false) {
  return {{.id = id, .kind = kind, .gfx = gfx, .num_units = units}, precedes_host};
}

const std::vector<ListedDevice> kServer = {
    device("cpu:0", "host", "x86-64-v4", 16), device("fake:0", "fake", "fake", 4),
    device("cuda:0", "cuda", "sm_90", 132, true), device("cuda:1", "cuda", "sm_90", 132, true),
    device("cuda:2", "cuda", "sm_80", 108, true)};
const std::vector<ListedDevice> kDesktop = {device("cpu:0", "host", "x86-64-v4", 16),
                                            device("fake:0", "fake", "fake", 4)};

std::string devices_for(const std::vector<ListedDevice>& here, std::vector<std::string> architectures) {
  return default_devices(here, architectures);
}

TEST(DefaultDevicesTest, AreTheAcceleratorsThatEqualTheFirst) { EXPECT_EQ(devices_for(kServer, {}), "cuda:0,cuda:1"); }

TEST(DefaultDevicesTest, AreTheHostWithoutAccelerators) { EXPECT_EQ(devices_for(kDesktop, {}), "cpu:0"); }

TEST(DefaultDevicesTest, AreThoseThatTheRowsName) {
  EXPECT_EQ(devices_for(kServer, {"sm_80"}), "cuda:2");
  EXPECT_EQ(devices_for(kServer, {"x86-64-v4"}), "cpu:0");
  EXPECT_EQ(devices_for(kDesktop, {"fake"}), "fake:0");
}

TEST(DefaultDevicesTest, PreferAcceleratorsThenTheHostAmongThoseThatTheRowsName) {
  EXPECT_EQ(devices_for(kServer, {"x86-64-v4", "sm_90"}), "cuda:0,cuda:1");
  EXPECT_EQ(devices_for(kServer, {"fake", "x86-64-v4"}), "cpu:0");
}

TEST(DefaultDevicesTest, IgnoreArchitecturesThatAreNotHere) {
  EXPECT_EQ(devices_for(kServer, {"gfx942"}), "cuda:0,cuda:1");
  EXPECT_EQ(devices_for(kDesktop, {"gfx942"}), "cpu:0");
}

}  // namespace
}  // namespace attune
