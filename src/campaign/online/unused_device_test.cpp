// SPDX-License-Identifier: MIT
#include "campaign/online/unused_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "process/temporary_folder.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::HasSubstr;

DeviceInfo gpu(const std::string& id, const std::string& model = "a") {
  DeviceInfo info;
  info.id = id;
  info.gfx = model;
  info.num_units = 4;
  return info;
}

class UnusedDeviceTest : public testing::Test {
 protected:
  UnusedDevice find() {
    return find_unused(listed_.front(),
                       {.listed = listed_,
                        .use_of =
                            [this](std::string_view id) {
                              const auto found = use_.find(id);
                              if (found != use_.end() && found->second == "throw")
                                fail(ErrorCode::unavailable, "it does not tell");
                              return found == use_.end() ? std::string() : found->second;
                            }},
                       root_.path());
  }
  std::string why_none() {
    try {
      find();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unavailable);
      return error.what();
    }
    return "";
  }

  TemporaryFolder root_{"unused-device"};
  std::vector<DeviceInfo> listed_ = {gpu("cuda:0"), gpu("cuda:1", "b"), gpu("cuda:2"), gpu("cuda:3")};
  std::map<std::string, std::string, std::less<>> use_;
};

TEST_F(UnusedDeviceTest, AnotherOneOfEqualFingerprintIsTaken) {
  EXPECT_EQ(find().info.id, "cuda:2");
  use_["cuda:2"] = "a process uses it";
  EXPECT_EQ(find().info.id, "cuda:3");
}

TEST_F(UnusedDeviceTest, OneThatTheDriverDoesNotTellOfIsPassedOver) {
  use_["cuda:2"] = "throw";
  EXPECT_EQ(find().info.id, "cuda:3");
  use_["cuda:3"] = "throw";
  EXPECT_THAT(why_none(), HasSubstr("cuda:2: it does not tell, cuda:3: it does not tell"));
}

TEST_F(UnusedDeviceTest, WhatWasFoundIsSaidWhereThereIsNone) {
  use_["cuda:2"] = "a process uses it";
  use_["cuda:3"] = "900 MiB of its memory are in use";
  EXPECT_THAT(why_none(), AllOf(HasSubstr("no unused GPU like cuda:0 (cuda:1: it is another model, cuda:2: a process "
                                          "uses it, cuda:3: 900 MiB of its memory are in use)"),
                                HasSubstr("ATTUNE_ONLINE_TUNING=shared")));
  listed_.resize(1);
  EXPECT_THAT(why_none(), HasSubstr("(it is the only one that this process sees)"));
}

/// Two programs that look at the same moment both find the device idle.
TEST_F(UnusedDeviceTest, OneProgramTunesOnADevice) {
  const UnusedDevice first = find(), second = find();
  EXPECT_EQ(first.info.id, "cuda:2");
  EXPECT_EQ(second.info.id, "cuda:3");
  EXPECT_THAT(why_none(), HasSubstr("cuda:3: another program tunes on it"));
}

TEST_F(UnusedDeviceTest, ADeviceThatProgramsShareAnywayIsTheOne) {
  const UnusedDevice own = find_unused(listed_.front(), {.listed = listed_}, root_.path());
  EXPECT_EQ(own.info.id, "cuda:0");
  EXPECT_EQ(own.turn, nullptr);
}

}  // namespace
}  // namespace attune
