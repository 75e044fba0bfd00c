// SPDX-License-Identifier: MIT
#include "worker/near_cores.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/machine.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class NearCores : public testing::Test {
 protected:
  void SetUp() override {
    if (allowed_.size() < 2) GTEST_SKIP() << "a process with one core has no choice";
  }
  std::vector<int> near(const std::string& list) const {
    std::filesystem::create_directories(folder_.path() / kDevice);
    folder_.put(std::string(kDevice) + "/local_cpulist", list);
    return cores_near("0000:3B:00.0", folder_.path());
  }
  static constexpr const char* kDevice = "sys/bus/pci/devices/0000:3b:00.0";
  const std::vector<int> allowed_ = allowed_cores();
  TestFolder folder_;
};

TEST_F(NearCores, AreThoseOfTheDevicesNodeThatTheProcessMayUse) {
  const int first = allowed_[0], second = allowed_[1];
  EXPECT_THAT(near(fmt::format("{}\n", second)), ElementsAre(second));
  EXPECT_THAT(near(fmt::format("70000000,{}-{}\n", first, first)), IsEmpty()) << "no list of cores";
  EXPECT_THAT(near(fmt::format("60000-60003,{}-{}\n", first, first)), ElementsAre(first));
}

TEST_F(NearCores, AreNotAskedForWhereAllOrNoneAreNear) {
  EXPECT_THAT(near("0-65535\n"), IsEmpty());
  EXPECT_THAT(near("60000\n"), IsEmpty());
  for (const char* text : {"", "\n", "x", "1-", "-1", "3-x"}) EXPECT_THAT(near(text), IsEmpty()) << text;
  EXPECT_THAT(cores_near("0000:00:00.0", folder_.path()), IsEmpty()) << "there is no such device";
}

}  // namespace
}  // namespace attune
