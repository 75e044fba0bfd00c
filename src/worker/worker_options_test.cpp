// SPDX-License-Identifier: MIT
#include "worker/worker_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

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

}  // namespace
}  // namespace attune
