// SPDX-License-Identifier: MIT
#include "report/time_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace attune {
namespace {

TimeUse ten_seconds() {
  TimeUse time;
  time[Activity::sample] = {4, 3.5};
  time[Activity::verify] = {2, 1.5};
  time[Activity::list] = {1.5, 0};
  time[Activity::fill] = {1, 0};
  time[Activity::wait] = {0.8, 0};
  time[Activity::load] = {0.7, 0.1};
  return time;
}

TEST(TimeReport, ASentenceSaysHowLongTheDeviceWasBusyAndWhatTookMost) {
  EXPECT_EQ(time_sentence(ten_seconds(), {}),
            "The device was busy for 51 % of 10.0 s: 40 % sampling, 20 % verifying, 15 % listing candidates, 10 % "
            "writing operands, 15 % other");
  EXPECT_TRUE(time_sentence(ten_seconds(), {2, 2}).starts_with("The devices were busy for 51 % of 10.0 s: "));
  EXPECT_TRUE(
      time_sentence(ten_seconds(), {1, 2}).starts_with("The workers kept the device busy for 51 % of 10.0 s: "));
  EXPECT_TRUE(time_sentence(ten_seconds(), {2, 4}).starts_with("The workers kept the devices busy for 51 % of "));
}

TEST(TimeReport, ThereIsNoSentenceWhereNothingWasMeasured) {
  TimeUse time;
  EXPECT_EQ(time_sentence(time, {}), "");
  time[Activity::list] = {1, 0};
  EXPECT_EQ(time_sentence(time, {}), "");
}

TEST(TimeReport, JsonHasEveryActivity) {
  const auto json = time_json(ten_seconds());
  EXPECT_EQ(json["wall_s"], 10.0);
  EXPECT_EQ(json["busy_s"], 5.1);
  EXPECT_EQ(json["activities"].size(), kNumActivities);
  EXPECT_EQ(json["activities"]["sample"]["wall_s"], 4.0);
  EXPECT_EQ(json["activities"]["sample"]["busy_s"], 3.5);
  EXPECT_EQ(json["activities"]["release"]["wall_s"], 0.0);
}

}  // namespace
}  // namespace attune
