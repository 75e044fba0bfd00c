// SPDX-License-Identifier: MIT
#include "worker/worker_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "device/device_kind.h"
#include "testing/environment.h"

namespace attune {
namespace {

using testing::Contains;
using testing::Not;
using testing::Pair;

constexpr const char* kVariables[] = {"OMP_TEST_OF_OPTIONS", "SECRET_OF_OPTIONS", "ATTUNE_HOME", "LD_LIBRARY_PATH"};

class OptionsOfWorkers : public testing::Test {
 protected:
  TestEnvironment environment_{kVariables};
};

TEST_F(OptionsOfWorkers, StartThisProgramForTheDevice) {
  const WorkerOptions options = worker_options("fake:0", nullptr);
  EXPECT_THAT(options.command, testing::ElementsAre("/proc/self/exe", "worker"));
  EXPECT_EQ(options.device, "fake:0");
  EXPECT_EQ(options.build, build_name());
  EXPECT_EQ(options.strays, nullptr);
}

TEST_F(OptionsOfWorkers, PassOnWhatLibrariesReadAndNothingElse) {
  ::setenv("OMP_TEST_OF_OPTIONS", "a=b", 1);
  ::setenv("SECRET_OF_OPTIONS", "1", 1);
  const auto environment = worker_options("fake:0", nullptr).environment;
  EXPECT_THAT(environment, Contains(Pair("OMP_TEST_OF_OPTIONS", "a=b")));
  EXPECT_THAT(environment, Not(Contains(testing::Key("SECRET_OF_OPTIONS"))));
}

TEST_F(OptionsOfWorkers, MakePathsAbsolute) {
  const std::string here = std::filesystem::current_path().string();
  ::setenv("ATTUNE_HOME", "state", 1);
  ::setenv("LD_LIBRARY_PATH", "lib:/usr/lib:", 1);
  const auto environment = worker_options("fake:0", nullptr).environment;
  EXPECT_THAT(environment, Contains(Pair("ATTUNE_HOME", here + "/state")));
  EXPECT_THAT(environment, Contains(Pair("LD_LIBRARY_PATH", here + "/lib:/usr/lib:")));
}

/// A kind whose devices are made visible one by one.
const bool is_registered = [] {
  register_device_kind(
      {.name = "hidden",
       .list = [] { return std::vector<DeviceInfo>(); },
       .open = [](std::string_view, int64_t) { return std::unique_ptr<Device>(); },
       .visibility_variable = "HIDDEN_DEVICES",
       .visible_name =
           [](std::string_view id) { return id == "hidden:7" ? std::string() : "uuid of " + std::string(id); }});
  return true;
}();

TEST_F(OptionsOfWorkers, ShowTheWorkerItsDeviceAlone) {
  ASSERT_TRUE(is_registered);
  const WorkerOptions options = worker_options("hidden:2", nullptr);
  EXPECT_THAT(options.environment, Contains(Pair("HIDDEN_DEVICES", "uuid of hidden:2")));
  EXPECT_EQ(options.device, "hidden:0") << "the first that it sees";
  EXPECT_EQ(options.name, "hidden:2") << "of its results";
}

TEST_F(OptionsOfWorkers, HideNothingWhereNoVariableNamesTheDevice) {
  for (const char* device : {"hidden:7", "hidden", "fake:0"}) {
    const WorkerOptions options = worker_options(device, nullptr);
    EXPECT_THAT(options.environment, Not(Contains(testing::Key("HIDDEN_DEVICES")))) << device;
    EXPECT_EQ(options.device, device);
    EXPECT_EQ(options.name, "");
  }
}

}  // namespace
}  // namespace attune
