// SPDX-License-Identifier: MIT
#include "worker/worker_options.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/machine.h"
#include "device/device_kind.h"
#include "testing/environment.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::Contains;
using testing::Not;
using testing::Pair;
using namespace std::string_literals;

constexpr const char* kVariables[] = {"OMP_TEST_OF_OPTIONS",
                                      "SECRET_OF_OPTIONS",
                                      "ATTUNE_HOME",
                                      "LD_LIBRARY_PATH",
                                      "HIDDEN_DRIVER_LOG",
                                      "HIDDEN_HOME",
                                      "HIDDEN_HOMES",
                                      "OPENBLAS_CORETYPE",
                                      "OMP_DYNAMIC",
                                      "GOMP_SPINCOUNT",
                                      "KMP_BLOCKTIME",
                                      "OPENBLAS_NUM_THREADS",
                                      "MKL_CBWR",
                                      "ONEDNN_DEFAULT_FPMATH_MODE",
                                      "OMP_THREAD_LIMIT",
                                      "OMP_NUM_THREADS",
                                      "ATTUNE_THREADS"};

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

TEST_F(OptionsOfWorkers, PassOnWhatVersionsRecordAndNoOtherSettingOfALibrary) {
  for (const char* name : {"OPENBLAS_CORETYPE", "OMP_DYNAMIC", "OMP_TEST_OF_OPTIONS", "GOMP_SPINCOUNT", "KMP_BLOCKTIME",
                           "OPENBLAS_NUM_THREADS", "MKL_CBWR", "ONEDNN_DEFAULT_FPMATH_MODE", "SECRET_OF_OPTIONS"})
    ::setenv(name, "1", 1);
  const auto environment = worker_options("fake:0", nullptr).environment;
  EXPECT_THAT(environment, Contains(Pair("OPENBLAS_CORETYPE", "1")));
  for (const auto& [name, value] : environment) {
    for (const char* prefix : {"OMP_", "GOMP_", "KMP_", "MKL_", "ONEDNN_", "OPENBLAS_NUM", "SECRET_"})
      EXPECT_FALSE(name.starts_with(prefix)) << name;
  }
}

TEST_F(OptionsOfWorkers, StateTheThreadsOfOpenMpsVariables) {
  EXPECT_THAT(worker_options("fake:0", nullptr).environment, Not(Contains(testing::Key("ATTUNE_THREADS"))));
  ::setenv("OMP_THREAD_LIMIT", "3", 1);
  EXPECT_THAT(worker_options("fake:0", nullptr).environment, Contains(Pair("ATTUNE_THREADS", "3")));
  ::setenv("OMP_NUM_THREADS", "2", 1);
  ::setenv("ATTUNE_THREADS", "5", 1);
  EXPECT_THAT(worker_options("fake:0", nullptr).environment, Contains(Pair("ATTUNE_THREADS", "2")));
}

TEST_F(OptionsOfWorkers, MakePathsAbsolute) {
  const std::string here = std::filesystem::current_path().string();
  ::setenv("ATTUNE_HOME", "state", 1);
  ::setenv("LD_LIBRARY_PATH", "lib:/usr/lib:", 1);
  ::setenv("ATTUNE_TORCH_OPERATORS", "kernels/attune_torch.so", 1);
  const auto environment = worker_options("fake:0", nullptr).environment;
  EXPECT_THAT(environment, Contains(Pair("ATTUNE_HOME", here + "/state")));
  EXPECT_THAT(environment, Contains(Pair("LD_LIBRARY_PATH", here + "/lib:/usr/lib:")));
  EXPECT_THAT(environment, Contains(Pair("ATTUNE_TORCH_OPERATORS", here + "/kernels/attune_torch.so")));
}

constexpr std::string_view kOfItsDriver[] = {"HIDDEN_DRIVER_", "HIDDEN_HOME"};

/// A kind whose devices are made visible one by one.
const bool is_registered = [] {
  register_device_kind(
      {.name = "hidden",
       .list =
           [] {
             DeviceInfo info{.kind = "hidden"};
             std::vector<DeviceInfo> listed;
             for (const char* id : {"hidden:2", "hidden:7"}) {
               info.id = id;
               info.memory_bytes = int64_t{info.id == "hidden:2" ? 16 : 15} << 30;
               listed.push_back(info);
             }
             return listed;
           },
       .open = [](std::string_view, int64_t) { return std::unique_ptr<Device>(); },
       .idle_worker_bytes = uint64_t{1} << 30,
       .variables = kOfItsDriver,
       .visibility_variable = "HIDDEN_DEVICES",
       .visible_name =
           [](std::string_view id) { return id == "hidden:7" ? std::string() : "uuid of " + std::string(id); },
       .pci_address = [](std::string_view id) { return id == "hidden:7" ? std::string() : "0000:3b:00.0"s; }});
  return true;
}();

TEST_F(OptionsOfWorkers, ShowTheWorkerItsDeviceAlone) {
  ASSERT_TRUE(is_registered);
  const WorkerOptions options = worker_options("hidden:2", nullptr);
  EXPECT_THAT(options.environment, Contains(Pair("HIDDEN_DEVICES", "uuid of hidden:2")));
  EXPECT_EQ(options.device, "hidden:0") << "the first that it sees";
  EXPECT_EQ(options.name, "hidden:2") << "of its results";
}

TEST_F(OptionsOfWorkers, PassOnWhatTheDriverOfAKindReads) {
  for (const char* name : {"HIDDEN_DRIVER_LOG", "HIDDEN_HOME", "HIDDEN_HOMES"}) ::setenv(name, "1", 1);
  for (const char* device : {"hidden:2", "fake:0"}) {
    const auto environment = worker_options(device, nullptr).environment;
    EXPECT_THAT(environment, Contains(Pair("HIDDEN_DRIVER_LOG", "1"))) << device;
    EXPECT_THAT(environment, Contains(Pair("HIDDEN_HOME", "1"))) << device;
    EXPECT_THAT(environment, Not(Contains(testing::Key("HIDDEN_HOMES")))) << "a whole name";
  }
}

TEST_F(OptionsOfWorkers, PutTheWorkerOnTheCoresNearItsDevice) {
  const std::vector<int> allowed = allowed_cores();
  if (allowed.size() < 2) GTEST_SKIP() << "a process with one core has no choice";
  const TestFolder folder;
  const std::string device = "sys/bus/pci/devices/0000:3b:00.0";
  std::filesystem::create_directories(folder.path() / device);
  folder.put(device + "/local_cpulist", fmt::format("{}\n", allowed[1]));
  EXPECT_THAT(worker_options("hidden:2", nullptr, folder.path()).cores, testing::ElementsAre(allowed[1]));
  EXPECT_THAT(worker_options("hidden:7", nullptr, folder.path()).cores, testing::IsEmpty()) << "on no bus";
  EXPECT_THAT(worker_options("fake:0", nullptr, folder.path()).cores, testing::IsEmpty());
}

TEST_F(OptionsOfWorkers, NameTheDeviceAsUsersDoInWhatAWorkerSays) {
  const WorkerOptions options = worker_options("hidden:2", nullptr);
  EXPECT_EQ(users_name(options), "hidden:2");
  EXPECT_EQ(in_users_words("hidden:0 stopped: hidden:0, not hidden:01 or hidden", options),
            "hidden:2 stopped: hidden:2, not hidden:01 or hidden");
  const WorkerOptions plain = worker_options("fake:0", nullptr);
  EXPECT_EQ(users_name(plain), "fake:0");
  EXPECT_EQ(in_users_words("fake:0", plain), "fake:0");
}

TEST_F(OptionsOfWorkers, HideNothingWhereNoVariableNamesTheDeviceOrItIsNotThere) {
  for (const char* device : {"hidden:7", "hidden:9", "hidden", "fake:0"}) {
    const WorkerOptions options = worker_options(device, nullptr);
    EXPECT_THAT(options.environment, Not(Contains(testing::Key("HIDDEN_DEVICES")))) << device;
    EXPECT_EQ(options.device, device);
    EXPECT_EQ(options.name, "");
  }
}

TEST_F(OptionsOfWorkers, ASecondWorkerStandsByWhereItsKindSaysWhatItTakesAndThatIsASmallPart) {
  EXPECT_TRUE(worker_options("hidden:2", nullptr).spare);
  EXPECT_FALSE(worker_options("hidden:7", nullptr).spare) << "more than a sixteenth of its memory";
  EXPECT_FALSE(worker_options("fake:0", nullptr).spare) << "it shares a processor with what is measured";
}

}  // namespace
}  // namespace attune
