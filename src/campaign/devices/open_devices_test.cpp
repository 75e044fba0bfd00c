// SPDX-License-Identifier: MIT
#include "campaign/devices/open_devices.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "device/device_kind.h"
#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "process/temporary_folder.h"
#include "solver/registry.h"
#include "testing/campaign_values.h"
#include "testing/environment.h"

namespace attune {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A kind with two devices that differ.
const bool has_uneven_devices = [] {
  register_device_kind({.name = "uneven",
                        .list =
                            [] {
                              const DeviceInfo first{.id = "uneven:0", .kind = "uneven", .gfx = "u1", .num_units = 4};
                              DeviceInfo second = first;
                              second.id = "uneven:1";
                              second.facts["l2_bytes"] = 1 << 20;
                              return std::vector{first, second};
                            },
                        .open = [](std::string_view, int64_t) { return std::unique_ptr<Device>(); }});
  return true;
}();

/// While set, a kind before the host has two equal devices; opening one throws an error that shows it.
bool are_twins_here = false;
const bool has_twins = [] {
  register_device_kind({.name = "twin",
                        .list =
                            [] {
                              std::vector<DeviceInfo> here;
                              if (!are_twins_here) return here;
                              for (const char* id : {"twin:0", "twin:1"})
                                here.push_back({.id = id, .kind = "twin", .gfx = "t1", .num_units = 4});
                              return here;
                            },
                        .open = [](std::string_view id, int64_t) -> std::unique_ptr<Device> {
                          fail(ErrorCode::invalid_input, "opened: {}", id);
                        },
                        .precedes_host = true});
  return true;
}();

class DevicesToOpen : public testing::Test {
 protected:
  DevicesToOpen() { kernels_.cache = (folder_.path() / "kernels").string(); }
  /// The sentence with which a list of devices is refused. No device is opened, and no worker is started.
  std::string refused(const std::string& ids, Isolation isolation = Isolation::process) const {
    return refusal([&] { open_environments({.ids = ids}, isolation, kernels_); });
  }

  static constexpr const char* kVariables[] = {"ATTUNE_MAX_CACHE_BYTES", "ATTUNE_THREADS"};
  TestEnvironment environment_{kVariables};
  TemporaryFolder folder_{"open_devices_test"};
  KernelOptions kernels_;
};

TEST_F(DevicesToOpen, ADeviceInThisProcessHasAnExecutorAndKernelsAndNoWorker) {
  const auto all = open_environments({.ids = "fake:0"}, Isolation::none, kernels_);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].device().id, "fake:0");
  EXPECT_EQ(all[0].flags, "--devices fake:0");
  EXPECT_NE(all[0].opened, nullptr);
  EXPECT_NE(all[0].kernels, nullptr);
  EXPECT_EQ(all[0].worker, nullptr);
  EXPECT_EQ(all[0].strays, nullptr);
  EXPECT_THAT(all[0].cores, IsEmpty());
}

TEST_F(DevicesToOpen, SeveralNeedAProcessEach) {
  EXPECT_EQ(refused("fake:0,fake:1", Isolation::none), "several devices need a process each, omit --isolation none");
}

TEST_F(DevicesToOpen, WithoutProcessesTheFirstIsTheDefault) {
  ASSERT_TRUE(has_twins);
  are_twins_here = true;
  EXPECT_EQ(ids_to_open({}, Isolation::process), "twin:0,twin:1");
  EXPECT_EQ(ids_to_open({}, Isolation::none), "twin:0");
  EXPECT_EQ(ids_to_open({.threads = 1}, Isolation::none), "cpu:0");
  EXPECT_EQ(ids_to_open({.ids = "fake:0,fake:1"}, Isolation::none), "fake:0,fake:1");
  EXPECT_EQ(refused("", Isolation::none), "opened: twin:0");
  are_twins_here = false;
}

TEST_F(DevicesToOpen, PartsAreNumberedFromZeroWithoutAGap) {
  for (const char* list : {"cpu:0,cpu:2", "cpu:1,cpu:2", "cpu:0,cpu:0", "cpu:0,fake:1", "fake:1,fake:2"})
    EXPECT_EQ(refused(list), fmt::format("several devices must be parts of one kind, numbered from 0, as in --devices "
                                         "cpu:0,cpu:1; got '{}'",
                                         list));
}

TEST_F(DevicesToOpen, AreOfOneFingerprint) {
  ASSERT_TRUE(has_uneven_devices);
  EXPECT_EQ(refused("uneven:0,uneven:1"),
            "the devices differ, so a row of one is no other's; tune uneven:0 and uneven:1 apart");
  EXPECT_EQ(refused("uneven:1,uneven:1"), "a device is named twice: uneven:1");
}

TEST_F(DevicesToOpen, AnUnknownDeviceIsRefused) {
  EXPECT_THAT(refused("tpu:0", Isolation::none), HasSubstr("tpu:0"));
  EXPECT_THAT(refused("tpu:0,tpu:1"), HasSubstr("tpu:0"));
}

TEST_F(DevicesToOpen, OneIsWantedWhereSeveralCannotBe) {
  EXPECT_NE(refusal([&] { open_environment({.ids = "fake:0,fake:1"}, Isolation::process, kernels_); }), "accepted");
  EXPECT_EQ(open_environment({.ids = "fake:0"}, Isolation::none, kernels_).device().id, "fake:0");
}

TEST_F(DevicesToOpen, AWrongCacheIsRefusedBeforeADeviceIsOpened) {
  kernels_.cache = (folder_.path() / "file").string();
  write_file_atomically(kernels_.cache, "");
  EXPECT_THAT(refused("fake:0"), HasSubstr(kernels_.cache));
  kernels_.cache = (folder_.path() / "kernels").string();
  const TestEnvironment size("ATTUNE_MAX_CACHE_BYTES", "much");
  EXPECT_THAT(refused("fake:0"), HasSubstr("ATTUNE_MAX_CACHE_BYTES"));
  kernels_.max_cache_bytes = 1 << 20;
  EXPECT_EQ(refused("fake:0", Isolation::none), "accepted") << "the option goes before the variable";
}

TEST_F(DevicesToOpen, TheFolderOfKernelsIsAbsolute) {
  EXPECT_EQ(kernel_cache_folder({.cache = "kernels"}), std::filesystem::current_path() / "kernels");
  const TestEnvironment cache("ATTUNE_CACHE", (folder_.path() / "users").string());
  EXPECT_EQ(kernel_cache_folder({}), folder_.path() / "users");
}

TEST(IsolationOption, IsAProcessUnlessItIsNone) {
  EXPECT_EQ(isolation_option("process"), Isolation::process);
  EXPECT_EQ(isolation_option("none"), Isolation::none);
}

TEST(WaitForQuiet, IsForHostsAlone) {
  FakeDevice device;
  const Registry solvers;
  Environment environment;
  environment.executor = std::make_unique<LocalExecutor>(device, solvers);
  bool has_looked = false;
  const auto looks = [&] { return has_looked = true; };
  wait_for_quiet(environment, 100, looks, [](const std::string& line) { ADD_FAILURE() << line; });
  EXPECT_FALSE(has_looked);
}

}  // namespace
}  // namespace attune
