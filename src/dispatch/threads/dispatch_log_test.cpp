// SPDX-License-Identifier: MIT
#include "dispatch/threads/dispatch_log.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

std::string printed(const std::string& sentence) {
  DispatchLog log;
  testing::internal::CaptureStderr();
  log.say(sentence);
  return testing::internal::GetCapturedStderr();
}

TEST(DispatchLog, WhatATableHoldsStaysOneLineAndHarmsNoTerminal) {
  EXPECT_EQ(printed("t.csv:2: kernel µs"), "attune: t.csv:2: kernel µs\n");
  EXPECT_EQ(printed("a\nb\x1b[31m\xc2\x9b\xff"), "attune: a\\nb\\x1b[31m\\xc2\\x9b\\xff\n");
}

TEST(DispatchLog, ASentenceIsSaidOnceAndTakesOneOfTheLines) {
  DispatchLog log;
  testing::internal::CaptureStderr();
  for (uint64_t i = 0; i < 2 * DispatchLog::kMaxLines; ++i) log.say("again");
  log.say("another");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "attune: again\nattune: another\n");
}

TEST(DispatchLog, ALongLineIsCut) { EXPECT_LT(printed(std::string(100000, 'x')).size(), 2100u); }

}  // namespace
}  // namespace attune
