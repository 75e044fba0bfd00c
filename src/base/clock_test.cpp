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

}  // namespace
}  // namespace attune
