// SPDX-License-Identifier: MIT
// Time of an executor by activity, in the fake device's virtual time.
#include <gtest/gtest.h>

#include "testing/local_executor_fixture.h"

namespace attune {
namespace {

class LocalExecutorTimeTest : public LocalExecutorTest {
 protected:
  LocalExecutorTimeTest() {
    start();
    device_->time().set_clock([this] { return device_->now_us() * 1e-6; });
  }
  void expect_us(Activity activity, double wall_us, double busy_us) {
    const TimeUse::Share share = executor_->workers().time[activity];
    EXPECT_NEAR(share.wall_s * 1e6, wall_us, 1e-6) << name(activity);
    EXPECT_NEAR(share.busy_s * 1e6, busy_us, 1e-6) << name(activity);
  }
};

TEST_F(LocalExecutorTimeTest, LaunchesAreTheTimeOfTheDeviceByWhatTheyAreFor) {
  open(1);
  expect_us(Activity::list, 0, 0);
  ASSERT_TRUE(admit(1, "fault=none;us=5").verified.ok());
  expect_us(Activity::load, 5, 5);         // the first launch, in which a library may load its kernel
  expect_us(Activity::verify, 10, 10);     // twice on normal data and once on integers, without that one
  expect_us(Activity::first_run, 20, 20);  // one cold, three warm
  sample({{.slot = 1, .launches = 8}});
  expect_us(Activity::sample, 65, 45);  // 20 for the clock, one untimed launch, eight timed ones
  device_->advance_us(100);
  expect_us(Activity::wait, 100, 0);
  EXPECT_NEAR(executor_->workers().time.wall_s() * 1e6, device_->now_us(), 1e-6) << "nothing is left out";
}

TEST_F(LocalExecutorTimeTest, AGraphsTimeIsTheDevicesToo) {
  open(1, "gemm_a16w16 m=20 n=40 k=64 dtype=fp32", Timing::graph);
  ASSERT_TRUE(admit(1, "enqueued=1;fault=none;us=5").verified.ok());
  const double before_s = executor_->workers().time[Activity::sample].busy_s;
  sample({{.slot = 1, .launches = 8, .timing = Timing::graph}});
  // The untimed launch is not in the graph, and takes half a microsecond more.
  EXPECT_NEAR((executor_->workers().time[Activity::sample].busy_s - before_s) * 1e6, 45.5, 1e-6);
}

TEST_F(LocalExecutorTimeTest, WhatIsFreedIsNoWaiting) {
  at_end_ = [this] { device_->advance_us(30); };
  open(1);
  ASSERT_TRUE(admit(1, "fault=none;us=5").verified.ok());
  executor_->close(1);
  expect_us(Activity::release, 30, 0);
  expect_us(Activity::wait, 0, 0);
}

}  // namespace
}  // namespace attune
