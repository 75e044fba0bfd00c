// SPDX-License-Identifier: MIT
#include "device/device_time.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(DeviceTime, EachMomentBelongsToTheInnermostActivity) {
  double now_s = 100;
  DeviceTime time;
  time.add_busy_us(7e6);
  time.set_clock([&] { return now_s; });
  now_s += 1;
  {
    const ActivityScope verifying(time, Activity::verify);
    now_s += 2;
    time.add_busy_us(500'000);
    {
      const ActivityScope guarding(time, Activity::guard);
      now_s += 4;
      time.add_busy_us(250'000);
      time.add_busy_us(-1e9);
    }
    now_s += 8;
    EXPECT_EQ(time.use()[Activity::verify].wall_s, 10) << "while it lasts, too";
  }
  now_s += 16;
  const TimeUse use = time.use();
  EXPECT_EQ(use[Activity::wait], (TimeUse::Share{17, 0}));
  EXPECT_EQ(use[Activity::verify], (TimeUse::Share{10, 0.5}));
  EXPECT_EQ(use[Activity::guard], (TimeUse::Share{4, 0.25}));
  EXPECT_EQ(use.wall_s(), 31);
  time.begin();
  EXPECT_EQ(time.use(), TimeUse());
}

}  // namespace
}  // namespace attune
