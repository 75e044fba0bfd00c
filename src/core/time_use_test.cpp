// SPDX-License-Identifier: MIT
#include "core/time_use.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace attune {
namespace {

TEST(TimeUse, SumsItsSharesAndThoseOfOthers) {
  TimeUse time, other;
  time[Activity::sample] = {3, 2};
  other[Activity::sample] = {1, 0.5};
  other[Activity::wait] = {4, 0};
  time += other;
  EXPECT_EQ(time.wall_s(), 8);
  EXPECT_EQ(time.busy_s(), 2.5);
  time -= other;
  EXPECT_EQ(time[Activity::sample], (TimeUse::Share{3, 2}));
  EXPECT_EQ(time[Activity::wait], TimeUse::Share{});
}

TEST(TimeUse, WhatTheTunerDidMeanwhileIsTakenFromTheWaitingAlone) {
  TimeUse time;
  time[Activity::wait].wall_s = 5;
  EXPECT_EQ(time.take_from_wait(Activity::pause, 3), 3);
  EXPECT_EQ(time.take_from_wait(Activity::compile, 3), 2) << "there is no more";
  EXPECT_EQ(time.take_from_wait(Activity::compile, -1), 0);
  EXPECT_EQ(time[Activity::wait].wall_s, 0);
  EXPECT_EQ(time[Activity::pause].wall_s, 3);
  EXPECT_EQ(time[Activity::compile].wall_s, 2);
}

TEST(TimeUse, EachActivityHasANameAndADescription) {
  std::set<std::string> words;
  for (size_t i = 0; i < kNumActivities; ++i) {
    words.emplace(name(static_cast<Activity>(i)));
    words.emplace(description(static_cast<Activity>(i)));
  }
  EXPECT_EQ(words.size(), 2 * kNumActivities);
  EXPECT_EQ(name(Activity::release), "release") << "the last one";
}

}  // namespace
}  // namespace attune
