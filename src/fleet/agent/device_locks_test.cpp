// SPDX-License-Identifier: MIT
#include "fleet/agent/device_locks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/error.h"
#include "process/temporary_folder.h"

namespace attune {
namespace {

TEST(DeviceLocks, OneAgentHasADeviceUntilItEnds) {
  const TemporaryFolder folder("device-locks-test");
  const auto inside = folder.path() / "new";
  auto first = std::make_unique<DeviceLocks>(std::vector<std::string>{"0000:3b:00.0", "0000:3c:00.0"}, inside);
  const DeviceLocks other({"0000:3d:00.0"}, inside);
  try {
    const DeviceLocks second({"0000:3e:00.0", "0000:3c:00.0"}, inside);
    FAIL() << "two agents have one device";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_THAT(error.what(), testing::HasSubstr("0000:3c:00.0"));
  }
  first.reset();
  const DeviceLocks third({"0000:3e:00.0", "0000:3c:00.0"}, inside);
}

TEST(DeviceLocks, AgentsShareTheHostAndCopies) {
  EXPECT_EQ(lock_name("cpu:0"), "");
  EXPECT_EQ(lock_name("fake:0"), "");
  EXPECT_EQ(lock_name("none:0"), "");
}

}  // namespace
}  // namespace attune
