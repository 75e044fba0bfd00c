// SPDX-License-Identifier: MIT
#include "base/clock.h"

#include <gtest/gtest.h>

#include <ctime>
#include <string>

namespace attune {
namespace {

TEST(UtcText, IsTheTimeInUtcInTheFormat) {
  const std::time_t before = std::time(nullptr);
  const std::string text = utc_text("%Y-%m-%dT%H:%M:%SZ");
  std::tm parts{};
  ASSERT_NE(::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts), nullptr) << text;
  const std::time_t then = ::timegm(&parts);
  EXPECT_GE(then, before);
  EXPECT_LE(then, std::time(nullptr));
}

TEST(UtcText, IsEmptyWhenItIsTooLong) { EXPECT_EQ(utc_text(std::string(100, 'x').c_str()), ""); }

TEST(UtcTimeText, IsATimeToTheMillisecond) {
  EXPECT_EQ(utc_time_text(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(utc_time_text(1795400917123), "2026-11-23T02:28:37.123Z");
  EXPECT_EQ(utc_time_text(-1), "1969-12-31T23:59:59.999Z");
}

}  // namespace
}  // namespace attune
