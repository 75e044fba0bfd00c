// SPDX-License-Identifier: MIT
#include "tables/row_speed.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

Measurement samples_of(double us, size_t count = 31) {
  Measurement measurement;
  measurement.samples.resize(count);
  for (Sample& sample : measurement.samples) sample.us = us;
  return measurement;
}

Comparison comparison(double us, double ratio_high) { return {.us = us, .interval = {0, ratio_high}}; }

TEST(RowSpeed, AStepOfTheClockIsNoSlowdown) {
  EXPECT_FALSE(is_slower_than_stated(samples_of(0.06), 0.045, 10)) << "a third slower, by less than the clock tells";
  EXPECT_TRUE(is_slower_than_stated(samples_of(0.08), 0.045, 10));
  EXPECT_FALSE(is_slower_than_baseline(comparison(0.06, 0.75), 5));
  EXPECT_TRUE(is_slower_than_baseline(comparison(0.12, 0.75), 5));
}

TEST(RowSpeed, LargerTimesAreJudgedByTheirShare) {
  EXPECT_TRUE(is_slower_than_stated(samples_of(11.2), 10, 10));
  EXPECT_FALSE(is_slower_than_stated(samples_of(10.9), 10, 10));
  EXPECT_TRUE(is_slower_than_baseline(comparison(10, 0.94), 5));
  EXPECT_TRUE(is_slower_than_baseline(comparison(2, 0.994), 0.5)) << "0.012 µs are much of a percent of 2 µs";
  EXPECT_FALSE(is_slower_than_baseline(comparison(10, 0.96), 5));
}

TEST(RowSpeed, TooFewOrDirtySamplesTellNothing) {
  EXPECT_FALSE(is_slower_than_stated(samples_of(20, 6), 10, 10));
  Measurement dirty = samples_of(20);
  for (Sample& sample : dirty.samples) sample.dirty = true;
  EXPECT_FALSE(is_slower_than_stated(dirty, 10, 10));
}

}  // namespace
}  // namespace attune
